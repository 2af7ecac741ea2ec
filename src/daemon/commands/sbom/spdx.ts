import { createHash } from 'node:crypto'
import { uuidOf } from './bill.ts'
import type { Bill, BilledFile, BilledSkill } from './bill.ts'
import type { License } from './license.ts'

/**
 * The bill as SPDX 2.3. Files are packages with the purpose FILE, because an SPDX file must have a SHA-1, and we do not
 * vouch for SHA-1.
 */
export function spdxOf(bill: Bill): string {
  const whole = wholeOf(bill)
  const skills = bill.skills.map((skill) => ({ skill, entry: packageOf(skill) }))
  const files = skills.flatMap(({ skill, entry }) =>
    skill.files.map((file) => ({ of: entry.SPDXID, entry: filePackageOf(file) })),
  )
  const named = namedLicenses(bill)
  const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: DOCUMENT,
    name: `skillsyncd-generation-${bill.generation}`,
    documentNamespace: `https://spdx.org/spdxdocs/skillsyncd-generation-${bill.generation}-${uuidOf(bill, 'spdx')}`,
    creationInfo: {
      // SPDX allows no fractions of seconds.
      created: bill.createdAt.replace(/\.\d+Z$/, 'Z'),
      creators: [`Tool: skillsyncd-${bill.version}`],
    },
    packages: [whole, ...skills.map(({ entry }) => entry), ...files.map(({ entry }) => entry)],
    ...(named.length > 0 && { hasExtractedLicensingInfos: named }),
    relationships: [
      relationship(DOCUMENT, 'DESCRIBES', whole.SPDXID),
      ...skills.map(({ entry }) => relationship(whole.SPDXID, 'CONTAINS', entry.SPDXID)),
      ...files.map(({ of, entry }) => relationship(of, 'CONTAINS', entry.SPDXID)),
    ],
  }
  return JSON.stringify(document, null, 2)
}

const DOCUMENT = 'SPDXRef-DOCUMENT'
const NOBODY_SAYS = 'NOASSERTION'

/** The values that cannot be known here. */
const UNKNOWN = { filesAnalyzed: false, licenseConcluded: NOBODY_SAYS, copyrightText: NOBODY_SAYS } as const

function wholeOf({ generation }: Bill) {
  return {
    SPDXID: 'SPDXRef-Generation',
    name: 'skills',
    versionInfo: String(generation),
    downloadLocation: NOBODY_SAYS,
    licenseDeclared: NOBODY_SAYS,
    ...UNKNOWN,
  }
}

function packageOf(skill: BilledSkill) {
  const { ref, source, name, description, digest, license, commit, purl, revision, signers } = skill
  return {
    SPDXID: idOf('Skill', ref),
    name,
    versionInfo: commit,
    downloadLocation: locationOf(skill),
    licenseDeclared: license === undefined ? NOBODY_SAYS : licenseText(license),
    ...UNKNOWN,
    ...(description !== undefined && { description }),
    comment: [`Source ${source}, ${revision}`, ...signers.map((signer) => `signed: ${signer}`)].join('; '),
    checksums: checksumsOf(digest),
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
    primaryPackagePurpose: 'LIBRARY',
  }
}

function filePackageOf({ ref, path, sha256 }: BilledFile) {
  return {
    SPDXID: idOf('File', ref),
    name: path,
    downloadLocation: NOBODY_SAYS,
    licenseDeclared: NOBODY_SAYS,
    ...UNKNOWN,
    checksums: checksumsOf(sha256),
    primaryPackagePurpose: 'FILE',
  }
}

function checksumsOf(checksumValue: string) {
  return [{ algorithm: 'SHA256', checksumValue }]
}

/** For git: the address and the commit. */
function locationOf({ address, commit, kind }: BilledSkill): string {
  if (address === undefined) return NOBODY_SAYS
  return kind === 'repository' ? `git+${address}@${commit}` : address
}

function licenseText({ kind, text }: License): string {
  return kind === 'expression' ? text : licenseRefOf(text)
}

function namedLicenses({ skills }: Bill) {
  const names = new Set(skills.flatMap(({ license }) => (license?.kind === 'name' ? [license.text] : [])))
  return [...names].map((text) => ({ licenseId: licenseRefOf(text), name: text, extractedText: text }))
}

function licenseRefOf(text: string): string {
  return `LicenseRef-${shortHash(text)}`
}

function idOf(what: 'Skill' | 'File', ref: string): string {
  return `SPDXRef-${what}-${shortHash(ref)}`
}

/** SPDX ids can hold only letters, digits, dots and hyphens. */
function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}

function relationship(spdxElementId: string, relationshipType: string, relatedSpdxElement: string) {
  return { spdxElementId, relationshipType, relatedSpdxElement }
}
