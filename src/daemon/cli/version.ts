import { VERSION } from '../../serve/version.ts'
import { printJson, printLines } from './command.ts'
import type { Command } from './command.ts'

export const versionCommand: Command = {
  name: 'version',
  summary: 'Show the versions of this program and of Node.js',
  needsConfiguration: false,
  examples: ['skillsyncd version', 'skillsyncd --version'],
  async run(context) {
    const node = process.versions.node
    if (context.json) printJson(context, { skillsyncd: VERSION, node, platform: process.platform, arch: process.arch })
    else printLines(context, [`skillsyncd ${VERSION}`, `Node.js ${node}, ${process.platform} ${process.arch}`])
    return 0
  },
}
