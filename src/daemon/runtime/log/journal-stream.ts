import { fstatSync } from 'node:fs'

/**
 * True if a descriptor is connected to the journal: `JOURNAL_STREAM` names the device and inode of that stream
 * (systemd.exec(5)). A set variable alone proves nothing: programs pass it to their children, with other streams.
 */
export function isJournalStream(named: string | undefined, descriptor: number | undefined): boolean {
  if (named === undefined || descriptor === undefined || !/^\d{1,20}:\d{1,20}$/.test(named)) return false
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return named === `${dev}:${ino}`
  } catch {
    // The descriptor is closed.
    return false
  }
}
