import type { Severity } from '../../base/diagnostic.ts'
import type { SkillCode } from '../skill/skill-diagnostic.ts'

/** Describes a code that a survey reports. */
export function describeSkillCode(code: SkillCode): CodeDescription {
  return SKILL_CODES[code]
}

/** The description of a code: what holds for each of its diagnostics. */
export interface CodeDescription {
  /** `error`: a standard or the contract is violated, or the skill would not be served. */
  readonly severity: Exclude<Severity, 'note'>
  readonly by: Authority
  /** The problem in general. */
  readonly says: string
  readonly fix: string
}

/**
 * The authority behind a code. `spec`: the Agent Skills specification. `skills-ref`: its reference validator, if that
 * is stricter than the text. `contract`: the frontmatter contract. `skillsyncd`: this program, as it serves skills or
 * gives advice.
 */
type Authority = 'spec' | 'skills-ref' | 'contract' | 'skillsyncd'

export type Descriptions<Codes extends string> = Readonly<Record<Codes, CodeDescription>>

/** Describes a code of severity `error`. */
export function errorCode(by: Authority, says: string, fix: string): CodeDescription {
  return { severity: 'error', by, says, fix }
}

/** Describes a code of severity `warning`. */
export function warningCode(by: Authority, says: string, fix: string): CodeDescription {
  return { severity: 'warning', by, says, fix }
}

const FRONTMATTER: Descriptions<
  Extract<SkillCode, `frontmatter-${string}` | `name-${string}` | `description-${string}`>
> = {
  'frontmatter-missing': errorCode(
    'spec',
    'SKILL.md does not begin with a frontmatter',
    'begin the file with name and description between two lines "---"',
  ),
  'frontmatter-unterminated': errorCode(
    'spec',
    'The frontmatter has no end',
    'put a line that is exactly "---" after the last key',
  ),
  'frontmatter-invalid': errorCode(
    'spec',
    'The frontmatter cannot be read as YAML, or not as JSON',
    'quote values with ": " or " #", indent with spaces, write every key once, use no alias or tag',
  ),
  'frontmatter-unquoted': errorCode(
    'spec',
    'A text without quotes is not valid YAML, as with ": " in it, or "[", "*" or "@" first',
    'put the text in quotes',
  ),
  'frontmatter-too-large': errorCode(
    'skillsyncd',
    'The frontmatter is larger than the limit',
    'move what does not help to choose the skill into its body',
  ),
  'name-missing': errorCode('spec', 'The skill has no name', 'add name: with the name of the folder'),
  'name-invalid': errorCode(
    'spec',
    'The name breaks the rule for names',
    'use 1 to 64 of a-z, 0-9 and single hyphens between them',
  ),
  'name-unlike-folder': errorCode(
    'spec',
    'The name differs from the name of the folder',
    'give the folder the name, or the skill the name of the folder',
  ),
  'name-clash': errorCode(
    'skillsyncd',
    'Another skill, or a folder, has the address of the skill',
    'rename one of the two, or remove one',
  ),
  'description-missing': errorCode(
    'spec',
    'The skill has no description, and agents choose skills by it',
    'add description: what the skill does and when to use it',
  ),
  'description-too-long': errorCode(
    'spec',
    'The description is longer than the specification allows',
    'keep it to 1,024 characters and move the rest into the body',
  ),
  'description-padded': errorCode(
    'spec',
    'White space makes the description longer than the specification allows',
    'begin a block with ">-" in place of ">", or shorten the text',
  ),
}

const SERVED: Descriptions<Exclude<SkillCode, keyof typeof FRONTMATTER>> = {
  'yaml-comment': warningCode(
    'skillsyncd',
    'The text after " #" is a comment, not a part of the value',
    'quote the text',
  ),
  'encoding-invalid': errorCode('spec', 'SKILL.md is not UTF-8', 'save the file as UTF-8'),
  'nested-skill': warningCode('skillsyncd', 'The skill is inside another skill', 'move it beside the other'),
  'metadata-not-text': errorCode(
    'spec',
    'metadata is not a mapping from text to text',
    'quote the value; write structure as text, or outside of metadata',
  ),
  'compatibility-invalid': errorCode(
    'spec',
    'compatibility is not a text of 1 to 500 characters',
    'shorten it, or leave it out',
  ),
  'field-refused': errorCode('skillsyncd', 'A field is called "__proto__", which clients refuse', 'rename it'),
  'hidden-unicode': warningCode(
    'skillsyncd',
    'Invisible characters that a model reads; some of them withhold the skill',
    'remove them; where they are meant, write them as escapes',
  ),
  'unrendered-text': warningCode(
    'skillsyncd',
    'Text that no rendered page shows and a model reads',
    'show it, or remove it from the file',
  ),
  'look-alike-letters': warningCode(
    'skillsyncd',
    'Words with letters that look like Latin letters and are not',
    'write them in plain letters',
  ),
  'file-name-case': errorCode('spec', 'The name of the file is not exactly SKILL.md', 'rename it to SKILL.md'),
  'limit-files': errorCode(
    'skillsyncd',
    'The skill has more files than hosts accept (512)',
    'move what the instructions do not need elsewhere, or split the skill',
  ),
  'limit-bytes': errorCode(
    'skillsyncd',
    'The skill is larger than hosts accept (16 MiB)',
    'leave large files out and let the instructions fetch or make them',
  ),
  'link-refused': warningCode(
    'skillsyncd',
    'A symbolic link that is not served',
    'put the file in its place, or link to a file of the same skill',
  ),
  'docs-missing': warningCode(
    'skillsyncd',
    'The docs folder of the source does not exist',
    'add the folder, or correct `docs`',
  ),
  'marketplace-unread': warningCode(
    'skillsyncd',
    'A marketplace file or the manifest of a plugin is not read',
    'make the file valid JSON, with each key once and within the limits',
  ),
  'marketplace-differs': warningCode(
    'skillsyncd',
    'Two marketplace files of a repository differ',
    'list the same plugins, with the same sources, in all marketplace files',
  ),
  'plugin-refused': warningCode(
    'skillsyncd',
    'A plugin of a marketplace, or a path in it, is refused',
    'correct the entry that the message names',
  ),
  submodule: warningCode('skillsyncd', 'A submodule, whose content is not served', 'copy the files into the skill'),
  'lfs-pointer': errorCode(
    'skillsyncd',
    'A git LFS pointer instead of a file',
    'fetch the files (git lfs pull), or keep this one out of LFS',
  ),
  'lfs-left-out': warningCode(
    'skillsyncd',
    'Files that are git LFS pointers are left out of the skill',
    'fetch the files (git lfs pull), or keep them out of LFS',
  ),
  'path-collision': errorCode('skillsyncd', 'Two paths differ only in case or Unicode form', 'rename one of the two'),
  'path-refused': errorCode(
    'skillsyncd',
    'The path or the file cannot be served',
    'fix what the message names: name, permission, kind or depth',
  ),
  'not-read': warningCode(
    'skillsyncd',
    'The skill could not be read, and stays as it was',
    'make the file or folder that the message names readable',
  ),
  'skill-ignored': warningCode(
    'skillsyncd',
    'A folder source has a SKILL.md that an ignore file of git covers',
    'change the line that the message names, or add a later line that begins with "!"',
  ),
  'kept-version': warningCode(
    'skillsyncd',
    'The newest version is broken, and an earlier one is served',
    'fix the fault that the message names in the newest commit',
  ),
  'archive-refused': errorCode('skillsyncd', 'The skill cannot be put into an archive', 'shorten or rename the path'),
  'entry-refused': errorCode(
    'spec',
    'An MCP server lists the skill in a form that clients cannot rely on',
    'correct the entry in `skills/list` of that server',
  ),
  'listing-incomplete': warningCode(
    'skillsyncd',
    'An MCP server does not report which skills its `skills/list` leaves out',
    'let `dev.skillsyncd/omitted/list` through to that server, and raise budgets that are used up',
  ),
  'no-answer-for-entry': warningCode(
    'skillsyncd',
    'An MCP server gives no answer about a skill that it lists',
    'have that server answer each request, or answer it with an error',
  ),
  'size-unknown': warningCode(
    'spec',
    'An MCP server lists a file without its size',
    'have that server declare the size of every file, or skillsyncd mcp-source mirror the skill',
  ),
  'not-verifiable': warningCode(
    'spec',
    'An MCP server gives no digests of the files of the skill',
    'have that server declare them, or serve the skill from a repository',
  ),
  'content-mismatch': errorCode(
    'spec',
    'An MCP server sends bytes that differ from its list',
    'have that server list and serve the same files',
  ),
  'contract-violated': errorCode(
    'contract',
    'The x-personal-mcp block, or a field beside it, breaks the frontmatter contract',
    'correct the field that the message names; docs/authors.md has the rules',
  ),
  'contract-noted': warningCode(
    'contract',
    'The x-personal-mcp block has a fault that is not fatal',
    'correct the field that the message names; docs/authors.md has the rules',
  ),
}

/** The codes of a survey, in the order of the documentation. */
export const SKILL_CODES: Descriptions<SkillCode> = { ...FRONTMATTER, ...SERVED }

/** True for the code of a finding about a skill. */
export function isSkillCode(text: string): text is SkillCode {
  return Object.hasOwn(SKILL_CODES, text)
}
