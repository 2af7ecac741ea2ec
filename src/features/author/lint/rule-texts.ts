import type { ContractCode } from '../../../sync/catalog/contract-diagnostics.ts'
import {
  errorCode,
  SKILL_CODES,
  warningCode,
  type CodeDescription,
  type Descriptions,
} from '../../../sync/model/code-descriptions.ts'
import type { AuthorCode, LintCode } from './diagnostic.ts'

/** Describes a code of `validate`. */
export function describeCode(code: LintCode): CodeDescription {
  return DESCRIPTIONS[code]
}

/** Every code of `validate`, in the order of the documentation. */
export function lintCodes(): LintCode[] {
  return Object.keys(DESCRIPTIONS).filter(isLintCode)
}

function isLintCode(text: string): text is LintCode {
  return Object.hasOwn(DESCRIPTIONS, text)
}

const BETWEEN_SKILLS: Descriptions<ContractCode> = {
  'id-clash': errorCode('contract', 'Two skills have one id in their x-personal-mcp block', 'rename all but one'),
  'dependency-missing': warningCode(
    'contract',
    'The skill depends on a skill that is not among the checked ones',
    'correct the id, or check all skills at once; a dependency in another source is fine',
  ),
  'dependency-cycle': errorCode(
    'contract',
    'Skills depend on each other in a circle',
    'remove one of the dependencies, or move what both need into a third skill',
  ),
}

const FIELDS: Descriptions<
  Extract<
    AuthorCode,
    | `${string}-not-text`
    | 'allowed-tools-list'
    | `${string}-in-text`
    | 'field-empty'
    | 'skeleton-text'
    | 'lifecycle-invalid'
  >
> = {
  'license-not-text': errorCode(
    'spec',
    'license is not text',
    'write the name of the licence, or of its file, as text',
  ),
  'allowed-tools-not-text': errorCode(
    'spec',
    'allowed-tools is neither text nor a list of texts',
    'write the tools as one text with spaces between them',
  ),
  'allowed-tools-list': warningCode(
    'spec',
    'allowed-tools is a list: most clients read it, some accept only text',
    'write the tools as one text with spaces; the frontmatter contract allows the list',
  ),
  'field-empty': warningCode(
    'skillsyncd',
    'An optional field is empty, which readers take in different ways',
    'give it a value, or remove the field',
  ),
  'skeleton-text': warningCode(
    'skillsyncd',
    'SKILL.md still has a text of the skeleton of skillsyncd skill new',
    'write what the skill does in its place, or remove the line',
  ),
  'tags-in-text': warningCode(
    'skillsyncd',
    'The name or description has text like an XML tag, which uploads to the Claude API refuse',
    'write the word without angle brackets',
  ),
  'lifecycle-invalid': warningCode(
    'skillsyncd',
    'A lifecycle field of metadata has a value that is left out or shortened',
    'write the value as docs/authors.md describes it under Lifecycle, in quotes',
  ),
}

const YAML: Descriptions<Extract<AuthorCode, `yaml-${string}`>> = {
  'yaml-ambiguous': warningCode(
    'skillsyncd',
    'Readers of YAML 1.1 and of YAML 1.2 read the plain value differently',
    'quote it',
  ),
  'yaml-number': warningCode(
    'skillsyncd',
    'The number is shown differently from how it is written',
    'quote it if it is a text, such as a version',
  ),
  'yaml-merge-key': warningCode(
    'skillsyncd',
    'Readers of YAML 1.1 merge the value of "<<", others read it as a key',
    'write the keys out',
  ),
  'yaml-tag': warningCode(
    'skillsyncd',
    'A tag (!!), which some readers refuse or read as text',
    'remove the tag, and quote what is meant as text',
  ),
  'yaml-subset': warningCode(
    'skillsyncd',
    'The official MCP client cannot read this YAML, or reads it differently',
    'write the value on one line, in quotes where needed, or as a plain block',
  ),
}

const TEXT: Descriptions<Extract<AuthorCode, 'description-no-when' | 'description-short' | `body-${string}`>> = {
  'description-no-when': warningCode(
    'spec',
    'The description does not say when to use the skill',
    'add a sentence such as "Use when the user asks for …"',
  ),
  'description-short': warningCode(
    'spec',
    'The description is too short for an agent to choose the skill',
    'say what the skill does and when to use it',
  ),
  'body-long': warningCode(
    'spec',
    'SKILL.md has over 500 lines, all read whenever the skill is used',
    'move details into files in references/ and say when to read them',
  ),
  'body-tokens': warningCode(
    'spec',
    'SKILL.md has over 5,000 tokens by estimate, all read whenever the skill is used',
    'move details into files in references/ and say when to read them',
  ),
}

const FILES: Descriptions<
  Extract<
    AuthorCode,
    'withheld-by-default' | `${string}link-${string}` | 'folder-name' | `script-${string}` | `text-in-scripts`
  >
> = {
  'withheld-by-default': errorCode(
    'skillsyncd',
    'A source withholds the skill, unless its policy is changed',
    'fix what the warnings name',
  ),
  'document-link-refused': errorCode(
    'skillsyncd',
    'SKILL.md is a symbolic link that is not followed',
    'put the file in its place, or link to a SKILL.md that is there',
  ),
  'link-leaves-skill': warningCode(
    'skillsyncd',
    'A link leads out of the skill, whose copies lack its target',
    'copy the file into the skill, or link to its address on the web',
  ),
  'link-target-missing': warningCode(
    'skillsyncd',
    'A link leads to a file that the skill does not have',
    'add the file, correct the path, or write the path as code if it is an example',
  ),
  'folder-name': warningCode(
    'spec',
    'The name of the folder is similar to a conventional one',
    'use scripts/, references/ and assets/',
  ),
  'script-outside-scripts': warningCode('spec', 'A program is outside scripts/', 'move it into scripts/'),
  'script-in-references': warningCode(
    'spec',
    'A program is in references/, whose files are read and not run',
    'move it into scripts/, or remove its executable bit if it is an example',
  ),
  'text-in-scripts': warningCode(
    'spec',
    'A document is in scripts/, whose files are run and not read',
    'move it into references/',
  ),
}

const REFERENCE_VALIDATOR: Descriptions<
  Extract<AuthorCode, 'unknown-field' | 'flow-style' | 'byte-order-mark' | 'dashes-in-frontmatter'>
> = {
  'unknown-field': errorCode(
    'skills-ref',
    'A field that the specification does not have',
    'move it into metadata, as text; the specification itself is silent on other fields',
  ),
  'flow-style': errorCode(
    'skills-ref',
    'A list or mapping in brackets, or an anchor: valid YAML, but refused',
    'write one entry per line',
  ),
  'byte-order-mark': errorCode(
    'skills-ref',
    'The file begins with a byte order mark',
    'save the file as UTF-8 without one',
  ),
  'dashes-in-frontmatter': errorCode(
    'skills-ref',
    'Three dashes inside the frontmatter, which the validator reads as its end',
    'write a dash (—) or two hyphens',
  ),
}

const DESCRIPTIONS: Descriptions<LintCode> = {
  ...SKILL_CODES,
  ...BETWEEN_SKILLS,
  ...FIELDS,
  ...YAML,
  ...TEXT,
  ...FILES,
  ...REFERENCE_VALIDATOR,
}
