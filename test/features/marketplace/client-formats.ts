// The formats in which clients read a marketplace, in our own words: the keys, patterns and limits that their documents
// and schemas state (Agent Plugins 1.0.0, cursor/plugins, Claude Code, Codex; November 2026). Their schema files are
// not copied here, because a test must neither fetch them nor keep text under a license of others.

const NAMED = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1 }, email: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
}

const TEXT = { type: 'string' }

/** The intersection of what the clients take as a name: with another one, Copilot refuses the whole marketplace. */
const NAME = { type: 'string', pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$', maxLength: 64 }

/** The versions that Claude Code and Codex use as the name of a folder, as they are. */
const VERSION = { type: 'string', pattern: '^[A-Za-z0-9._-]+$', maxLength: 64 }

/** A root `plugin.json`: closed, and refused by Codex for any other version of the format. */
export const AGENT_PLUGIN = {
  type: 'object',
  properties: {
    $schema: { const: 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json' },
    name: { ...NAME, not: { pattern: '--|\\.\\.' } },
    version: VERSION,
    description: TEXT,
    author: { ...NAMED, properties: { ...NAMED.properties, url: TEXT } },
    homepage: TEXT,
    repository: TEXT,
    license: TEXT,
    keywords: { type: 'array', items: TEXT },
    extensions: { type: 'object', additionalProperties: { type: 'object' } },
  },
  required: ['$schema', 'name', 'version'],
  additionalProperties: false,
}

/** `.cursor-plugin/plugin.json`, closed, and `.claude-plugin/plugin.json`, whose unknown keys a strict check reports. */
export const PLUGIN = {
  type: 'object',
  properties: { name: NAME, version: VERSION, description: TEXT, author: NAMED },
  required: ['name', 'version'],
  additionalProperties: false,
}

/** `.cursor-plugin/marketplace.json`: closed, without a version, and without a description at the top. */
export const CURSOR_MARKETPLACE = {
  type: 'object',
  properties: {
    name: NAME,
    owner: NAMED,
    metadata: { type: 'object', properties: { description: TEXT }, additionalProperties: false },
    plugins: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: NAME, source: { type: 'string', pattern: '^plugins/[a-z0-9-]+$' }, description: TEXT },
        required: ['name', 'source'],
        additionalProperties: false,
      },
    },
  },
  required: ['name', 'owner', 'plugins'],
  additionalProperties: false,
}

/** `.claude-plugin/marketplace.json`, which Copilot, VS Code and the skills CLI read too. */
export const CLAUDE_MARKETPLACE = {
  type: 'object',
  properties: {
    name: NAME,
    owner: NAMED,
    description: { type: 'string', minLength: 1 },
    forceRemoveDeletedPlugins: { type: 'boolean' },
    renames: { type: 'object', propertyNames: NAME, additionalProperties: NAME },
    plugins: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: NAME,
          source: { type: 'string', pattern: '^\\./plugins/[a-z0-9-]+$' },
          description: TEXT,
          version: VERSION,
        },
        required: ['name', 'source', 'version'],
        additionalProperties: false,
      },
    },
  },
  required: ['name', 'owner', 'description', 'plugins'],
  additionalProperties: false,
}

/** `.agents/plugins/marketplace.json`. */
export const CODEX_MARKETPLACE = {
  type: 'object',
  properties: {
    name: NAME,
    interface: { type: 'object', properties: { displayName: { type: 'string', minLength: 1 } } },
    plugins: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: NAME,
          source: {
            type: 'object',
            properties: { source: { const: 'local' }, path: { type: 'string', pattern: '^\\./plugins/[a-z0-9-]+$' } },
            required: ['source', 'path'],
            additionalProperties: false,
          },
          policy: {
            type: 'object',
            properties: {
              installation: { enum: ['NOT_AVAILABLE', 'AVAILABLE', 'INSTALLED_BY_DEFAULT'] },
              authentication: { enum: ['ON_INSTALL', 'ON_USE'] },
            },
            required: ['installation', 'authentication'],
            additionalProperties: false,
          },
          category: TEXT,
        },
        required: ['name', 'source', 'policy'],
        additionalProperties: false,
      },
    },
  },
  required: ['name', 'interface', 'plugins'],
  additionalProperties: false,
}
