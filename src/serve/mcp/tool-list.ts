/** What `tools/list` holds. `hasPaths`: whether the caller is told where skills lie. */
export function toolsFor(hasPaths: boolean): readonly object[] {
  return [LIST_SKILLS, getSkillTool(hasPaths)]
}

/** Nothing is written, and nobody is asked but the sources that the operator named. */
const HARMLESS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

const LIST_SKILLS = {
  name: 'list_skills',
  title: 'List skills',
  description:
    'Lists every skill that is available here: its id, its name, and what it is for. A skill is a package of instructions, with scripts and other files where it needs them, for one kind of task. Call this to learn which skills there are, and again when they are no longer in your context or a new task begins.',
  inputSchema: { type: 'object', properties: {}, required: [] },
  annotations: HARMLESS,
}

function getSkillTool(hasPaths: boolean): object {
  const place = hasPaths ? PATH : URI
  return {
    name: 'get_skill',
    title: 'Get a skill',
    description: `Gives the full instructions of one skill: the text of its SKILL.md without the frontmatter. ${place.description} Call this when a task is one that the description of the skill covers, not before.`,
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The id of the skill, as list_skills gives it' } },
      required: ['id'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        ...place.properties,
        source: { type: 'string', description: 'The source that the skill comes from' },
        name: { type: 'string', description: 'The name of the skill' },
        description: { type: 'string', description: 'What the skill does, and when to use it' },
        content: { type: 'string', description: 'The instructions: SKILL.md without its frontmatter' },
      },
      required: [...place.required, 'source', 'name', 'description', 'content'],
    },
    annotations: HARMLESS,
  }
}

/** What is said of where the other files of a skill are found. */
interface Place {
  readonly description: string
  readonly properties: object
  readonly required: readonly string[]
}

const PATH: Place = {
  description:
    'With them comes the absolute path of that file: what the instructions name (references/, scripts/, assets/) lies in the same folder, to be read and run with your own tools.',
  properties: { path: { type: 'string', description: 'The absolute path of SKILL.md' } },
  required: ['path'],
}

const URI: Place = {
  description:
    'With them comes the URI of that file: what the instructions name (references/, scripts/, assets/) is read by resources/read at URIs below the same folder.',
  properties: { uri: { type: 'string', description: 'The URI of SKILL.md; left out for a skill that has none' } },
  required: [],
}
