// Fails where an advisory is known for a package that users install. Where the registry publishes none, says so and passes.
import { spawnSync } from 'node:child_process'

const args = ['audit', '--omit=dev', '--package-lock-only', '--json', ...process.argv.slice(2)]
const { stdout } = spawnSync('npm', args, { encoding: 'utf8' })
const { vulnerabilities } = reportIn(stdout)
if (vulnerabilities === undefined) {
  console.log('advisories cannot be had here: the registry does not answer with them')
} else {
  for (const { name, severity, via } of Object.values(vulnerabilities)) {
    const advisories = via.map((cause) =>
      typeof cause === 'string' ? `by way of ${cause}` : `${cause.title} ${cause.url}`,
    )
    console.log(`${severity}: ${name}: ${advisories.join('; ')}`)
  }
  const count = Object.keys(vulnerabilities).length
  console.log(`${count} packages with advisories`)
  process.exitCode = count > 0 ? 1 : 0
}

function reportIn(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
