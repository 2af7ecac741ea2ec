import { z } from 'zod'

/**
 * What the JSON schema of SPDX 2.3 (spdx/spdx-spec, schemas/spdx-schema.json) and the chapters 6, 7, 10 and 11 of the
 * specification say of the parts that we write. All objects are closed, as they are there. The schema itself is in no package
 * that could be installed; what this accepts was held against it when this was written.
 */
const ID = z.string().regex(/^SPDXRef-[a-zA-Z0-9.-]+$/)
const CHECKSUM = z.strictObject({ algorithm: z.literal('SHA256'), checksumValue: z.string().regex(/^[0-9a-f]{64}$/) })
const LICENSE_REF = z.string().regex(/^LicenseRef-[a-zA-Z0-9.-]+$/)
const REFERENCE = z.strictObject({
  referenceCategory: z.enum(['OTHER', 'PERSISTENT-ID', 'SECURITY', 'PACKAGE-MANAGER']),
  referenceType: z.literal('purl'),
  referenceLocator: z.string().regex(/^pkg:\S+$/),
})
const PACKAGE = z.strictObject({
  SPDXID: ID,
  name: z.string(),
  versionInfo: z.string().optional(),
  downloadLocation: z.string().regex(/^(?:NOASSERTION|NONE|(?:git\+)?(?:https?|ssh|file):\S+)$/),
  filesAnalyzed: z.literal(false),
  licenseConcluded: z.literal('NOASSERTION'),
  licenseDeclared: z.string().min(1),
  copyrightText: z.literal('NOASSERTION'),
  description: z.string().optional(),
  comment: z.string().optional(),
  checksums: z.array(CHECKSUM).min(1).optional(),
  externalRefs: z.array(REFERENCE).optional(),
  primaryPackagePurpose: z.enum(['LIBRARY', 'FILE']).optional(),
})
const RELATIONSHIP = z.strictObject({
  spdxElementId: ID,
  relationshipType: z.enum(['DESCRIBES', 'CONTAINS']),
  relatedSpdxElement: ID,
})

export const SPDX_2_3 = z.strictObject({
  spdxVersion: z.literal('SPDX-2.3'),
  dataLicense: z.literal('CC0-1.0'),
  SPDXID: z.literal('SPDXRef-DOCUMENT'),
  name: z.string().min(1),
  documentNamespace: z.url().refine((text) => !text.includes('#')),
  creationInfo: z.strictObject({
    created: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    creators: z.array(z.string().regex(/^Tool: \S+-\S+$/)).min(1),
  }),
  packages: z.array(PACKAGE).min(1),
  hasExtractedLicensingInfos: z
    .array(z.strictObject({ licenseId: LICENSE_REF, name: z.string(), extractedText: z.string().min(1) }))
    .optional(),
  relationships: z.array(RELATIONSHIP).min(1),
})
