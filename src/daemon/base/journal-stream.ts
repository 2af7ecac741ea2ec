import { fstatSync } from 'node:fs'

/**
 * Whether a descriptor leads to the journal: `JOURNAL_STREAM` names the device and inode of the stream that does (systemd.exec(5)).
 * That it is set says nothing: programs hand it on to what they start, with other streams.
 */
export function isJournalStream(named: string | undefined, descriptor: number | undefined): boolean {
  if (named === undefined || descriptor === undefined || !/^\d{1,20}:\d{1,20}$/.test(named)) return false
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true })
    return named === `${dev}:${ino}`
  } catch {
    // One that is closed leads nowhere.
    return false
  }
}
