import type { ContractFamily } from './contract.ts'

/** A template of the family, and the values of its variables that lead to something that is listed. */
export interface ContractTemplate {
  readonly listed: ListedTemplate
  readonly variables: ReadonlyMap<string, ValuesOf>
}

/** What `resources/templates/list` has of one. */
interface ListedTemplate {
  readonly uriTemplate: string
  readonly name: string
  readonly description: string
  /** Undefined where what it leads to is of more than one type. */
  readonly mimeType?: string
}

/** The values that a variable can have, given what is said of the others. */
type ValuesOf = (given: ReadonlyMap<string, string>) => Iterable<string>

/** Each only while something is behind it. */
export function contractTemplates(family: ContractFamily): ContractTemplate[] {
  const skills = family.listed.length === 0 ? [] : ofSkills(family)
  const references = family.listed.some(({ contract }) => contract.references.length > 0) ? [ofReferences(family)] : []
  const docs = pathsOfDocs(family).length === 0 ? [] : [ofDocs(family)]
  return [...skills, ...references, ...docs]
}

/** FastMCP, and the contract, write `{path*}` for what RFC 6570 writes `{+path}`. */
export function isSpelledAs(template: string, asked: string): boolean {
  return asked === template || asked === template.replace(/\{\+(\w+)\}/, '{$1*}')
}

function ofSkills(family: ContractFamily): ContractTemplate[] {
  const variables = new Map([['skill_id', () => family.listed.map(({ contract }) => contract.id)]])
  return [
    {
      listed: {
        uriTemplate: 'resource://catalog/skills/{skill_id}',
        name: 'skill_record',
        description: 'What is known of a skill, by its id',
        mimeType: 'application/json',
      },
      variables,
    },
    {
      listed: {
        uriTemplate: 'resource://skills/{skill_id}/document',
        name: 'skill_document',
        description: 'The SKILL.md of a skill, by its id',
        mimeType: 'text/markdown',
      },
      variables,
    },
  ]
}

function ofReferences({ listed }: ContractFamily): ContractTemplate {
  const pairs = listed.flatMap(({ contract }) => contract.references.map(({ id }) => [contract.id, id] as const))
  const isGiven = (given: string | undefined, value: string): boolean => given === undefined || given === value
  return {
    listed: {
      uriTemplate: 'resource://skills/{skill_id}/references/{ref_id}',
      name: 'skill_reference',
      description: 'A document that a skill refers to, by the ids of both',
    },
    variables: new Map<string, ValuesOf>([
      ['skill_id', (given) => pairs.filter(([, ref]) => isGiven(given.get('ref_id'), ref)).map(([skill]) => skill)],
      ['ref_id', (given) => pairs.filter(([skill]) => isGiven(given.get('skill_id'), skill)).map(([, ref]) => ref)],
    ]),
  }
}

/** What clients make of `{path*}` has its slashes encoded (RFC 6570, 3.2.2), and leads nowhere. */
function ofDocs(family: ContractFamily): ContractTemplate {
  return {
    listed: {
      uriTemplate: `${DOCS}{+path}`,
      name: 'docs',
      description: 'A document below docs/, by its path',
      mimeType: 'text/markdown',
    },
    variables: new Map([['path', () => pathsOfDocs(family)]]),
  }
}

const DOCS = 'resource://docs/'

function pathsOfDocs({ resources }: ContractFamily): string[] {
  return [...resources.values()].flatMap((resource) =>
    resource.kind === 'doc' && resource.isListed ? [resource.uri.slice(DOCS.length)] : [],
  )
}
