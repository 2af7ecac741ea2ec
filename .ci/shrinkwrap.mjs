// Writes the lock that is published: with it, users get the versions that were tested. Of the project's own lock it leaves out
// what is for development, which npm would install for users where it is an optional peer of something.
import { readFileSync, writeFileSync } from 'node:fs'

const [output = 'npm-shrinkwrap.json'] = process.argv.slice(2)
const { packages, ...lock } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const { devDependencies: _development, ...program } = packages['']
const installed = Object.entries(packages).filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
writeFileSync(
  output,
  `${JSON.stringify({ ...lock, packages: { '': program, ...Object.fromEntries(installed) } }, null, 2)}\n`,
)
