import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { launchAgentPath, PLIST } from '../../cli/user-service.ts'
import type { Service, ServiceFile } from './units.ts'

/** The property list of a user's launchd, made from the template in `systemd/launchd`. */
export async function launchAgent({ program, config, state }: Service, home: string): Promise<ServiceFile> {
  const template = await readFile(join(program.folder, 'systemd', 'launchd', PLIST), 'utf8')
  const command = [program.node, program.main, 'start', '--config', config, '--state', state]
  const log = join(home, 'Library', 'Logs', 'skillsyncd.log')
  const text = template
    .replace(/(?<=<array>\n)[\s\S]*?(?= {2}<\/array>)/, () => command.map((word) => `    ${stringOf(word)}\n`).join(''))
    .replace(/(?<=<key>StandardErrorPath<\/key>\n\s*)<string>.*<\/string>/, () => stringOf(log))
    .replace(/\n/, () => `\n${PLIST_MARK}`)
  return { path: launchAgentPath(home), text }
}

/** The comment that identifies a file as ours. It follows the XML declaration, which must come first. */
export const PLIST_MARK = '<!-- Written by skillsyncd service install, which writes it anew. -->\n'

function stringOf(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<string>${escaped}</string>`
}
