import { editDistance } from './edit-distance.ts'

/**
 * Returns the candidate that was most likely meant by a mistyped word: at most a third of its letters differ. Case does
 * not count, and a hyphen equals an underscore. `undefined` if none is close.
 */
export function closestTo(word: string, candidates: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll('-', '_')
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(plain(word), plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}
