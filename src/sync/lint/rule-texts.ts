import type { FindingRule } from '../skill-md/skill-diagnostic.ts'
import type { AuthorRule, Authority, ContractRule, Rule, RuleSheet } from './diagnostic.ts'

/** The description of a rule. */
export function sheetOf(rule: Rule): RuleSheet {
  return SHEETS[rule]
}

/** Every rule, in the order of the documentation. */
export function allRules(): Rule[] {
  return Object.keys(SHEETS).filter(isRule)
}

function isRule(text: string): text is Rule {
  return Object.hasOwn(SHEETS, text)
}

type Sheets<Names extends string> = Readonly<Record<Names, RuleSheet>>

function error(by: Authority, says: string, mend: string): RuleSheet {
  return { severity: 'error', by, says, mend }
}

function warning(by: Authority, says: string, mend: string): RuleSheet {
  return { severity: 'warning', by, says, mend }
}

const FRONTMATTER: Sheets<Extract<FindingRule, `frontmatter-${string}` | `name-${string}` | `description-${string}`>> =
  {
    'frontmatter-missing': error(
      'spec',
      'SKILL.md does not begin with a frontmatter',
      'begin the file with a line "---", put name and description below it, and close with a line "---"',
    ),
    'frontmatter-unterminated': error(
      'spec',
      'The frontmatter is not closed',
      'put a line that is exactly "---" after the last key',
    ),
    'frontmatter-invalid': error(
      'spec',
      'The frontmatter cannot be read as YAML, or not as JSON',
      'quote values that hold ": " or " #", indent with spaces, write every key once, and no alias or tag',
    ),
    'frontmatter-unquoted': error(
      'spec',
      'A text without quotes holds ": ", which YAML takes for a mapping',
      'put the text in quotes',
    ),
    'frontmatter-too-large': error(
      'skillsyncd',
      'The frontmatter is larger than any server takes',
      'move what is not needed to choose the skill into its body or into references/',
    ),
    'name-missing': error('spec', 'The skill has no name', 'add name: with the name of the folder'),
    'name-invalid': error(
      'spec',
      'The name breaks the rule for names',
      'use 1 to 64 of a-z, 0-9 and single hyphens between them',
    ),
    'name-unlike-folder': error(
      'spec',
      'The name is not that of the folder',
      'give the folder the name, or the skill the name of the folder',
    ),
    'name-clash': error('skillsyncd', 'Two skills lead to one address', 'rename one of the two'),
    'description-missing': error(
      'spec',
      'The skill has no description, by which agents choose it',
      'add description: what the skill does and when to use it',
    ),
    'description-too-long': error(
      'spec',
      'The description is longer than the specification allows',
      'keep it to 1,024 characters and move the rest into the body',
    ),
    'description-padded': error(
      'spec',
      'The white space around the description makes it longer than the specification allows',
      'begin a block with ">-" in place of ">", or shorten the text',
    ),
  }

const SERVED: Sheets<Exclude<FindingRule, keyof typeof FRONTMATTER | ContractRule>> = {
  'encoding-invalid': error('spec', 'SKILL.md is not UTF-8', 'save the file as UTF-8'),
  'nested-skill': warning('skillsyncd', 'The skill lies inside another one', 'move it beside the other'),
  'metadata-not-text': error(
    'spec',
    'metadata is no mapping from text to text',
    'quote the value; write structure as text, or under a key of your own outside of metadata',
  ),
  'compatibility-invalid': error(
    'spec',
    'compatibility is no text of 1 to 500 characters',
    'shorten it, or leave it out',
  ),
  'field-refused': error('skillsyncd', 'A field is called "__proto__", which clients refuse', 'call it otherwise'),
  'hidden-unicode': warning(
    'skillsyncd',
    'Characters that nobody sees and a model reads; some of them withhold the skill',
    'remove them; where they are meant, write them as escapes',
  ),
  'unrendered-text': warning(
    'skillsyncd',
    'Text that no rendered page shows and a model reads',
    'show it, or remove it from the file',
  ),
  'look-alike-letters': warning(
    'skillsyncd',
    'Words whose letters look like Latin ones and are others',
    'write them in plain letters',
  ),
  'file-name-case': error('spec', 'The file is not called SKILL.md to the letter', 'rename it to SKILL.md'),
  'limit-files': error(
    'skillsyncd',
    'The skill has more files than hosts take (512)',
    'move what the instructions do not need out of the folder, or split the skill',
  ),
  'limit-bytes': error(
    'skillsyncd',
    'The skill is larger than hosts take (16 MiB)',
    'leave large files out and let the instructions fetch or make them',
  ),
  'link-refused': warning(
    'skillsyncd',
    'A symbolic link that is not served',
    'put the file in its place, or let the link lead to a file of the same skill',
  ),
  'docs-missing': warning(
    'skillsyncd',
    'The docs folder of the source is not there',
    'add the folder, or correct `docs`',
  ),
  submodule: warning('skillsyncd', 'A submodule, whose content is not served', 'copy the files into the skill'),
  'lfs-pointer': error(
    'skillsyncd',
    'A git LFS pointer in the place of a file',
    'fetch the files (git lfs pull), or keep this one out of LFS',
  ),
  'lfs-left-out': warning(
    'skillsyncd',
    'Files that are git LFS pointers are left out of the skill',
    'fetch the files (git lfs pull), or keep them out of LFS',
  ),
  'path-collision': error(
    'skillsyncd',
    'Two paths are one where case and Unicode form do not count',
    'rename one of the two',
  ),
  'path-refused': error(
    'skillsyncd',
    'The path or the file is none that can be served',
    'give it a name of UTF-8 characters without a backslash, and make it a plain file that can be read',
  ),
  'not-read': warning(
    'skillsyncd',
    'The skill could not be read, and stays as it was',
    'make the file or folder that the message names readable',
  ),
  'archive-refused': error('skillsyncd', 'The skill cannot be put into an archive', 'shorten or rename the path'),
  'entry-refused': error(
    'spec',
    'An MCP server lists the skill in a way that nobody can rely on',
    'correct the entry in `skills/list` of that server',
  ),
  'listing-incomplete': warning(
    'skillsyncd',
    'An MCP server does not say which skills its `skills/list` leaves out',
    'let `dev.skillsyncd/omitted/list` through to that server, and raise the budgets of the source if it is over them',
  ),
  'size-unknown': warning(
    'spec',
    'An MCP server lists a file without its size',
    'have that server declare the size of every file, or skillsyncd mirror the skill',
  ),
  'not-verifiable': warning(
    'spec',
    'An MCP server gives no digests of the files of the skill',
    'have that server declare them, or serve the skill from a repository',
  ),
  'content-mismatch': error(
    'spec',
    'An MCP server sends other bytes than it lists',
    'have that server list and serve the same files',
  ),
}

const CONTRACT: Sheets<ContractRule> = {
  'contract-violated': error(
    'contract',
    'The x-personal-mcp block, or a field beside it, breaks the frontmatter contract',
    'correct the field that the message names; docs/contract.md has the rules',
  ),
  'contract-noted': warning(
    'contract',
    'Something in the x-personal-mcp block is not as it should be',
    'correct the field that the message names; docs/contract.md has the rules',
  ),
  'id-clash': error('contract', 'Two skills have one id in their x-personal-mcp block', 'rename all but one'),
  'dependency-missing': warning(
    'contract',
    'The skill depends on one that is not among those looked at',
    'correct the id, or look at all skills at once; one of another source is fine',
  ),
  'dependency-cycle': error(
    'contract',
    'Skills depend on each other in a circle',
    'take one of the dependencies out, or put what both need into a third skill',
  ),
}

const FIELDS: Sheets<
  Extract<AuthorRule, `${string}-not-text` | 'allowed-tools-list' | `${string}-in-text` | 'field-empty'>
> = {
  'license-not-text': error('spec', 'license is no text', 'write the name of the licence, or of its file, as text'),
  'allowed-tools-not-text': error(
    'spec',
    'allowed-tools is neither text nor a list of texts',
    'write the tools as one text with spaces between them',
  ),
  'allowed-tools-list': warning(
    'spec',
    'allowed-tools is a list: most clients read it, some take text alone',
    'write the tools as one text with spaces between them; a skill that keeps the frontmatter contract may leave the list',
  ),
  'field-empty': warning(
    'skillsyncd',
    'An optional field with nothing in it: nothing to some readers, an empty text or an error to others',
    'give it a value, or leave the field out',
  ),
  'tags-in-text': warning(
    'skillsyncd',
    'The name or the description holds what looks like an XML tag: uploads to the Claude API refuse it',
    'write the word without angle brackets',
  ),
}

const YAML: Sheets<Extract<AuthorRule, `yaml-${string}`>> = {
  'yaml-ambiguous': warning(
    'skillsyncd',
    'Readers of YAML 1.1 and of YAML 1.2 take the plain value for different things',
    'quote it',
  ),
  'yaml-number': warning(
    'skillsyncd',
    'The value is a number that is shown otherwise than it is written',
    'quote it if it is a text, such as a version',
  ),
  'yaml-merge-key': warning(
    'skillsyncd',
    'Readers of YAML 1.1 merge what stands at "<<", others take it for a key',
    'write the keys out',
  ),
  'yaml-tag': warning(
    'skillsyncd',
    'A tag (!!): readers that know few of them refuse it or take it for text',
    'take the tag out, and quote a value that is meant as text',
  ),
  'yaml-subset': warning(
    'skillsyncd',
    'The official client of MCP, whose reader takes a part of YAML, cannot read the frontmatter, or reads it as something else',
    'write the value in one line, quoted where it has to be, or as a plain block',
  ),
  'yaml-comment': warning('skillsyncd', 'What follows " #" is a comment and no part of the text', 'quote the text'),
}

const TEXT: Sheets<Extract<AuthorRule, 'description-no-when' | 'description-short' | `body-${string}`>> = {
  'description-no-when': warning(
    'spec',
    'The description does not say when to use the skill; agents choose by that',
    'add a sentence such as "Use when the user asks for …"',
  ),
  'description-short': warning(
    'spec',
    'The description is too short to choose the skill by',
    'say what the skill does and when to use it',
  ),
  'body-long': warning(
    'spec',
    'SKILL.md has over 500 lines, all of which are read whenever the skill is used',
    'move details into files in references/ and say when to read them',
  ),
  'body-tokens': warning(
    'spec',
    'SKILL.md has over 5,000 tokens, by estimate, all of which are read whenever the skill is used',
    'move details into files in references/ and say when to read them',
  ),
}

const FILES: Sheets<
  Extract<
    AuthorRule,
    'withheld-by-default' | `${string}link-${string}` | 'folder-name' | `script-${string}` | `text-in-scripts`
  >
> = {
  'withheld-by-default': error(
    'skillsyncd',
    'A source withholds the skill, unless its policy is set to another one',
    'mend what the warnings name',
  ),
  'document-link-refused': error(
    'skillsyncd',
    'SKILL.md is a symbolic link that is not followed',
    'put the file in its place, or let the link lead to a SKILL.md that is there',
  ),
  'link-leaves-skill': warning(
    'skillsyncd',
    'A link leads out of the skill: where the skill is installed alone, nothing is there',
    'copy the file into the skill, or link to its address on the web',
  ),
  'link-target-missing': warning(
    'skillsyncd',
    'A link leads to a file that the skill does not have',
    'add the file, correct the path, or write the path as code if it is an example',
  ),
  'folder-name': warning(
    'spec',
    'The folder is nearly called as a conventional one',
    'use scripts/, references/ and assets/',
  ),
  'script-outside-scripts': warning('spec', 'A program lies outside of scripts/', 'move it into scripts/'),
  'script-in-references': warning(
    'spec',
    'A program lies in references/, whose files are read and not run',
    'move it into scripts/, or take its executable bit away if it is an example',
  ),
  'text-in-scripts': warning(
    'spec',
    'A document lies in scripts/, whose files are run and not read',
    'move it into references/',
  ),
}

const REFERENCE_VALIDATOR: Sheets<
  Extract<AuthorRule, 'unknown-field' | 'flow-style' | 'byte-order-mark' | 'dashes-in-frontmatter'>
> = {
  'unknown-field': error(
    'skills-ref',
    'A field that the specification does not have',
    'move it into metadata, as text; the specification itself is silent on other fields',
  ),
  'flow-style': error(
    'skills-ref',
    'A list or mapping in brackets, or an anchor: valid YAML, and refused',
    'write one entry a line',
  ),
  'byte-order-mark': error(
    'skills-ref',
    'The file begins with a byte order mark',
    'save the file as UTF-8 without one',
  ),
  'dashes-in-frontmatter': error(
    'skills-ref',
    'Three dashes in a row inside of the frontmatter are taken for its end',
    'write a dash (—) or two hyphens',
  ),
}

const SHEETS: Sheets<Rule> = {
  ...FRONTMATTER,
  ...SERVED,
  ...CONTRACT,
  ...FIELDS,
  ...YAML,
  ...TEXT,
  ...FILES,
  ...REFERENCE_VALIDATOR,
}
