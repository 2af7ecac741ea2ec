// Installs the packages of package-lock.json where one of them is missing or has another version, and says so in one
// line. It runs before anything is installed, so it uses nothing but Node, an old one too.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const locked = lockedPackages()
const missing = missingOf(locked)

if (missing.length > 0) {
  const named = missing.length < locked.length ? missing.slice(0, 3).join(', ') : 'the packages of package-lock.json'
  const more = missing.length < locked.length && missing.length > 3 ? ` and ${missing.length - 3} more` : ''
  process.stderr.write(`Installing ${named}${more} with npm ci, which can take a minute\n`)
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], options)
  if (status !== 0) {
    process.stderr.write('npm ci failed; run it by itself to see why\n')
    process.exitCode = 1
  }
}

/** The paths and versions of all packages that every machine needs: an optional one may be for another system. */
function lockedPackages() {
  return Object.entries(packagesOf('package-lock.json')).filter(
    ([path, { optional }]) => path !== '' && optional !== true,
  )
}

/** The names of those that are not installed. npm writes its list of installed packages last. */
function missingOf(packages) {
  const installed = packagesOf('node_modules/.package-lock.json')
  return packages
    .filter(([path, { version }]) => installed[path]?.version !== version || !existsSync(join(root, path)))
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
}

function packagesOf(file) {
  const path = join(root, file)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {}
}
