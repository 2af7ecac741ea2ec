import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
// Writes what the program is made of, as CycloneDX 1.6: each package that the build put into it, with its license, address
// and digest of the lock. The same build gives the same bytes.
import { ComponentType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums'
import { Bom, Component, HashDictionary, LicenseExpression, Metadata } from '@cyclonedx/cyclonedx-library/Models'
import { JSON as AsJson, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize'
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec'

const SORTED = { sortLists: true, space: 2 }
const [output = 'dist/sbom.cdx.json'] = process.argv.slice(2)
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const { '': program } = packages
const bom = new Bom({
  metadata: new Metadata({ component: componentOf(ComponentType.Application, program.name, program) }),
})
for (const { name, path } of JSON.parse(readFileSync('dist/program/packages.json', 'utf8')))
  bom.components.add(componentOf(ComponentType.Library, name, packages[path]))
mkdirSync(dirname(output), { recursive: true })
writeFileSync(output, `${new JsonSerializer(new AsJson.Normalize.Factory(Spec1dot6)).serialize(bom, SORTED)}\n`)

function componentOf(type, name, { version, license, integrity }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const component = new Component(type, name, { bomRef: purl, version, purl, hashes: hashesOf(integrity) })
  if (license !== undefined) component.licenses.add(new LicenseExpression(license))
  return component
}

/** Subresource Integrity has the digest in base64. */
function hashesOf(integrity) {
  if (integrity === undefined) return new HashDictionary()
  const digest = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
  return new HashDictionary([[HashAlgorithm['SHA-512'], digest]])
}
