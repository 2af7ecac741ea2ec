/** A human-readable size: `512 B`, `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const count = bytes / 1024 ** power
  return `${power === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${UNITS[power]}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
