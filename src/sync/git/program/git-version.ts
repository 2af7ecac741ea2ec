/** A version of the git program, as three numbers. */
export type GitVersion = readonly [major: number, minor: number, patch: number]

/**
 * Parses the output of `git --version`; `undefined` if it names no version. Suffixes of a vendor or a build are
 * ignored.
 */
export function gitVersionIn(printed: string): GitVersion | undefined {
  const [, major, minor, patch] = /^git version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?/.exec(printed) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch ?? 0)]
}

/** True for versions that read configuration from the environment (GIT_CONFIG_COUNT). */
export function readsConfigFromEnvironment(version: GitVersion): boolean {
  return isAtLeast(version, [2, 31, 0])
}

/**
 * True for a version that obeys GIT_NO_LAZY_FETCH, and so starts no program that a repository names for its missing
 * objects (CVE-2024-32004). Each release line has the fix from a different patch on.
 */
export function obeysNoLazyFetch(version: GitVersion): boolean {
  const fixed = FIXED.find(([major, minor]) => version[0] === major && version[1] === minor)
  return isAtLeast(version, fixed ?? FIRST_WITHOUT_A_FIX)
}

const FIXED: readonly GitVersion[] = [
  [2, 39, 4],
  [2, 40, 2],
  [2, 41, 1],
  [2, 42, 2],
  [2, 43, 4],
  [2, 44, 1],
  [2, 45, 1],
]

const FIRST_WITHOUT_A_FIX: GitVersion = [2, 46, 0]

function isAtLeast(version: GitVersion, least: GitVersion): boolean {
  const differing = version.findIndex((number, index) => number !== least[index])
  return differing < 0 || (version[differing] ?? 0) > (least[differing] ?? 0)
}
