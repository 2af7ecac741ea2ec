import { DEFAULT_HITS, LEAST_TOKENS, MOST_CHARACTERS, MOST_HITS } from './search/query.ts'

/** Returns the tools for `tools/list`. `hasPaths`: true if the caller may learn the paths of skills. */
export function toolsFor({ hasPaths, hasSearch }: { hasPaths: boolean; hasSearch: boolean }): readonly Tool[] {
  const finding = [LIST_SKILLS, ...(hasSearch ? [SEARCH_SKILLS] : [])]
  return [...finding, getSkillTool(hasPaths), ...(hasPaths ? [] : [READ_SKILL_FILE])]
}

/** An entry of `tools/list`. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: object
  readonly outputSchema?: object
  readonly annotations: object
}

/** The tools write nothing, and contact only the sources that the operator configured. */
const HARMLESS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

const LIST_SKILLS = {
  name: 'list_skills',
  title: 'List skills',
  description:
    'Lists every skill that is available here: its id, its name, the source it comes from, and what it is for. A skill that exists in several places is listed once, with the ids of its `places`; one is enough. A skill is a package of instructions, with scripts and other files where it needs them, for one kind of task. Call this to learn which skills there are, and again when they are no longer in your context or a new task begins. Needs no arguments; a long list comes in pages of some 8,000 tokens, each with the number of all and the cursor of the next.',
  inputSchema: {
    type: 'object',
    properties: {
      cursor: { type: 'string', description: 'The cursor that came with the page before; without it the list begins' },
      limit: { type: 'integer', minimum: 1, description: 'List at most this number of skills' },
    },
    required: [],
  },
  annotations: HARMLESS,
}

const SEARCH_SKILLS = {
  name: 'search_skills',
  title: 'Search skills',
  description:
    'Finds the skills that fit a task best: the id, the name, the source and the description of each, the best first. Costs far less than list_skills where there are many skills. Call this at the start of a task, with a few words that describe it, such as "fill in a pdf form"; typing errors and other forms of a word are understood. Then call get_skill with the id of one that fits. If nothing fits, try other words for the same thing.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', maxLength: MOST_CHARACTERS, description: 'What the task is about, in a few words' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MOST_HITS,
        default: DEFAULT_HITS,
        description: 'Give at most this number of skills',
      },
      max_tokens: {
        type: 'integer',
        minimum: LEAST_TOKENS,
        description:
          'Shorten the answer to about this number of tokens: descriptions first, then the last skills are left out',
      },
    },
    required: ['query'],
  },
  outputSchema: {
    type: 'object',
    properties: {
      skills: {
        type: 'array',
        description: 'The skills that fit, the best first',
        items: {
          type: 'object',
          properties: {
            id: { type: 'string', description: 'The id of the skill, for get_skill' },
            name: { type: 'string', description: 'The name of the skill' },
            source: { type: 'string', description: 'The source that the skill comes from' },
            places: {
              type: 'array',
              items: { type: 'string' },
              description: 'The ids of all places that have exactly this skill, if there are several; one is enough',
            },
            description: {
              type: 'string',
              description: 'What the skill does, and when to use it; cut off at an ellipsis',
            },
          },
          required: ['id', 'name', 'source', 'description'],
        },
      },
      omitted: {
        type: 'integer',
        description: 'The number of further skills that fit, which were left out for lack of room',
      },
    },
    required: ['skills'],
  },
  annotations: HARMLESS,
}

const ID =
  'The id of the skill, as list_skills gives it; a unique name that is not an id, and its skill:// URI, are accepted too'

const READ_SKILL_FILE = {
  name: 'read_skill_file',
  title: 'Read a file of a skill',
  description:
    'Gives one file of a skill: what its instructions name (references/, scripts/, assets/), at a path that get_skill lists. A large file comes in parts, each with the offset of the next. Call this when a step of the instructions leads to the file, not before.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: ID },
      path: { type: 'string', description: 'The path of the file below the folder of the skill' },
      offset: {
        type: 'integer',
        minimum: 0,
        default: 0,
        description: 'The byte to begin at: next_offset of the part before',
      },
    },
    required: ['id', 'path'],
  },
  outputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The path of the file' },
      size: { type: 'integer', description: 'Bytes of the whole file' },
      offset: { type: 'integer', description: 'The byte at which this part begins' },
      next_offset: { type: 'integer', description: 'The byte at which the next part begins; left out with the last' },
      encoding: { type: 'string', enum: ['utf-8', 'base64'], description: 'base64 if the file is not UTF-8' },
      content: { type: 'string', description: 'This part of the file' },
      hidden: { type: 'string', description: 'The part of the content that people do not see, if there is any' },
    },
    required: ['path', 'size', 'offset', 'encoding', 'content'],
  },
  annotations: HARMLESS,
}

function getSkillTool(hasPaths: boolean): Tool {
  const place = hasPaths ? PATH : URI
  return {
    name: 'get_skill',
    title: 'Get a skill',
    description: `Gives the full instructions of one skill: the text of its SKILL.md without the frontmatter. ${place.description} Call this when a task is one that the description of the skill covers, not before.`,
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string', description: ID } },
      required: ['id'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        ...place.properties,
        source: { type: 'string', description: 'The source that the skill comes from' },
        name: { type: 'string', description: 'The name of the skill' },
        description: { type: 'string', description: 'What the skill does, and when to use it' },
        lifecycle: {
          type: 'object',
          description: 'What its author or the operator declares: deprecated, replacedBy, owner, dependsOn',
        },
        kept: {
          type: 'object',
          description:
            'There if this is an earlier version: its commit, and the commit since which the skill is broken',
          properties: { commit: { type: 'string' }, since: { type: 'string' } },
          required: ['commit', 'since'],
        },
        content: { type: 'string', description: 'The instructions: SKILL.md without its frontmatter' },
        hidden: { type: 'string', description: 'The part of the content that people do not see, if there is any' },
      },
      required: [...place.required, 'source', 'name', 'description', 'content'],
    },
    annotations: HARMLESS,
  }
}

/** The part of the schema about the location of a skill's other files. */
interface Place {
  readonly description: string
  readonly properties: object
  readonly required: readonly string[]
}

const PATH: Place = {
  description:
    'With them comes the absolute path of that file: what the instructions name (references/, scripts/, assets/) is in the same folder; read and run it with your own tools.',
  properties: { path: { type: 'string', description: 'The absolute path of SKILL.md' } },
  required: ['path'],
}

const URI: Place = {
  description:
    'With them comes the list of its other files: what the instructions name (references/, scripts/, assets/) is read with read_skill_file.',
  properties: {
    uri: { type: 'string', description: 'The URI of SKILL.md; left out for a skill that has none' },
    files: {
      type: 'array',
      description: 'The other files of the skill',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'The path below the folder of the skill, for read_skill_file' },
          size: { type: 'integer', description: 'In bytes' },
        },
        required: ['path', 'size'],
      },
    },
  },
  required: ['files'],
}
