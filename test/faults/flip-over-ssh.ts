import { readFileSync, writeFileSync } from 'node:fs'
import { PackFlipper } from './flip-pack.ts'

// Stands behind a server of ssh: passes on what comes in, one byte of the pack in it inverted. A file says which, and another
// is told how many there were.

const [at = '', seen = ''] = process.argv.slice(2)
const asked = readFileSync(at, 'utf8')
const flipper = new PackFlipper(asked === '' ? undefined : Number(asked))
for await (const chunk of process.stdin) {
  const bytes = flipper.feed(chunk)
  writeFileSync(seen, String(flipper.packBytes))
  process.stdout.write(bytes)
}
