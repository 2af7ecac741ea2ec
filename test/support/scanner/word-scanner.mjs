// A scanner of the tests. Its rules are lines "LEVEL WORD"; it reports each line of a file with one of the words.
// Usage: word-scanner.mjs RULES FOLDER, or word-scanner.mjs --version
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [rulesFile, folder] = process.argv.slice(2)
if (rulesFile === '--version') process.stdout.write('word-scanner 1.0\n')
else {
  appendFileSync(`${rulesFile}.runs`, `${folder}\n`)
  const rules = readFileSync(rulesFile, 'utf8')
    .split('\n')
    .flatMap((line) => (/^(\w+) (.+)$/.test(line) ? [line.split(' ')] : []))
  if (rules.some(([level]) => level === 'fail')) {
    process.stderr.write('the rules are broken\n')
    process.exit(1)
  }
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const results = files.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    const lines = readFileSync(path, 'utf8').split('\n')
    return lines.flatMap((text, index) =>
      rules
        .filter(([, word]) => text.includes(word))
        .map(([level, word]) => ({
          ruleId: `word/${word}`,
          level,
          message: { text: `it says ${word}` },
          locations: [{ physicalLocation: { artifactLocation: { uri: path }, region: { startLine: index + 1 } } }],
        })),
    )
  })
  process.stdout.write(JSON.stringify({ version: '2.1.0', runs: [{ tool: { driver: { name: 'words' } }, results }] }))
}
