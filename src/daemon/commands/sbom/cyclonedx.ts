import { ComponentType, ExternalReferenceType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums'
import {
  Bom,
  Component,
  ComponentRepository,
  ExternalReference,
  ExternalReferenceRepository,
  HashDictionary,
  LicenseExpression,
  LicenseRepository,
  Metadata,
  NamedLicense,
  Property,
  PropertyRepository,
  SpdxLicense,
  Tools,
} from '@cyclonedx/cyclonedx-library/Models'
import type { License as BomLicense } from '@cyclonedx/cyclonedx-library/Models'
import { JSON as AsJson, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize'
import { isSupportedSpdxId } from '@cyclonedx/cyclonedx-library/SPDX'
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec'
import { uuidOf } from './bill.ts'
import type { Bill, BilledFile, BilledSkill } from './bill.ts'
import type { License } from './license.ts'

/** The bill as CycloneDX 1.6. */
export function cycloneDxOf(bill: Bill): string {
  const skills = bill.skills.map(componentOf)
  const bom = new Bom({
    serialNumber: `urn:uuid:${uuidOf(bill, 'cyclonedx')}`,
    components: new ComponentRepository(skills),
    metadata: new Metadata({
      timestamp: new Date(bill.createdAt),
      tools: new Tools({
        components: new ComponentRepository([
          new Component(ComponentType.Application, 'skillsyncd', { version: bill.version }),
        ]),
      }),
      component: wholeOf(bill, skills),
    }),
  })
  // The library sorts by locale. Our order is that of the generation.
  return new JsonSerializer(new AsJson.Normalize.Factory(Spec1dot6)).serialize(bom, { sortLists: false, space: 2 })
}

function wholeOf({ generation }: Bill, skills: readonly Component[]): Component {
  const whole = new Component(ComponentType.Data, 'skills', { bomRef: 'generation', version: String(generation) })
  for (const { bomRef } of skills) whole.dependencies.add(bomRef)
  return whole
}

function componentOf(skill: BilledSkill): Component {
  const { ref, source, name, description, digest, license, commit, purl, files } = skill
  return new Component(ComponentType.Library, name, {
    bomRef: ref,
    group: source,
    version: commit,
    purl,
    ...(description !== undefined && { description }),
    hashes: hashOf(digest),
    licenses: new LicenseRepository(license === undefined ? [] : [bomLicenseOf(license)]),
    externalReferences: new ExternalReferenceRepository(referencesOf(skill)),
    properties: new PropertyRepository(propertiesOf(skill)),
    components: new ComponentRepository(files.map(fileOf)),
  })
}

function fileOf({ ref, path, sha256 }: BilledFile): Component {
  return new Component(ComponentType.File, path, { bomRef: ref, hashes: hashOf(sha256) })
}

function hashOf(sha256: string): HashDictionary {
  return new HashDictionary([[HashAlgorithm['SHA-256'], sha256]])
}

/** The schema's list of ids is fixed at its release. An id that is not in it is written as an expression. */
function bomLicenseOf({ kind, text }: License): BomLicense {
  if (kind === 'name') return new NamedLicense(text)
  return isSupportedSpdxId(text) ? new SpdxLicense(text) : new LicenseExpression(text)
}

function referencesOf({ address, kind, commit, revision }: BilledSkill): ExternalReference[] {
  if (address === undefined) return []
  const type = kind === 'repository' ? ExternalReferenceType.VCS : ExternalReferenceType.Distribution
  return [new ExternalReference(address, type, { comment: `commit ${commit}, ${revision}` })]
}

function propertiesOf({ revision, signers }: BilledSkill): Property[] {
  return [
    new Property('skillsyncd:ref', revision),
    ...signers.map((signer) => new Property('skillsyncd:signed', signer)),
  ]
}
