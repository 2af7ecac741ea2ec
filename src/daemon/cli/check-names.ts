import type { ItemCode } from '../../sync/model/item.ts'
import { LOCK_UNREADABLE } from '../../sync/model/sync-error.ts'
import type { SkillCode } from '../../sync/skill/skill-diagnostic.ts'
import type { CodeText, OperatorErrorCode } from '../runtime/operator-error.ts'

/** The checks of this machine, by `doctor`. */
export const MACHINE_CHECKS = {
  node: { meaning: 'The Node version, on a supported system' },
  configuration: { meaning: 'The configuration is usable; the message has file, line and column' },
  program: { meaning: 'git and ssh have the needed versions; your own programs are there, and not run' },
  'state-folder': { meaning: 'It is, or can become, a state folder of this user alone that can be written' },
  decisions: { meaning: 'decisions.json (disabled skills, holds, approvals) is readable, or its copy is' },
  disk: { meaning: 'There is room for what limits.disk permits; the disk is local and not in memory' },
  socket: { meaning: 'The path of the command socket fits, and its folder belongs to this user alone' },
  writer: { meaning: 'The process that writes the state folder answers, with the same configuration and version' },
  listen: { meaning: 'Each address for clients or webhooks is free, or used by the daemon or systemd for it' },
  tokens: { meaning: 'If other machines can connect, there is a valid token or an issuer' },
  descriptors: { meaning: 'As many files can be open as limits.http.connections permits, in the calling shell' },
  secret: { meaning: 'Each named secret is set, readable, well-formed, and not readable by every user' },
  trust: { meaning: 'Certificates (ca), signers (signed) and known hosts are readable' },
  host: { meaning: 'Each host has an address, a connection opens, its certificate is trusted, the proxy permits it' },
  source: { meaning: 'The source gives the commit of its ref, with the credential and the proxy of a pull' },
  status: { meaning: 'All that needs a person in skillsyncd status, and each skill that is withheld or disabled' },
  lock: { meaning: 'The lock can be read, fits the configuration and what is served, and names no recalled skill' },
  'lock-origin': { meaning: 'The newest lock of the repository that lock.from names is in force' },
  database: { meaning: 'The database of store.postgres can be reached, and has the schema of this version' },
  clock: { meaning: 'The clock against that of each host: a warning from 30 seconds, a failure from 5 minutes' },
  folder: { meaning: 'Local sources are readable' },
  watches: { meaning: "Folders below folder sources against half of the system's limit for one user" },
  links: { meaning: 'The folders of agents have the served skills, and no agent finds a skill twice' },
  contract: { meaning: 'The skills of the frontmatter contract fit together' },
  offers: { meaning: 'An MCP server offers something that is not taken, which is no fault; the line names the key' },
  dependencies: { meaning: 'Skills with metadata.depends_on have what they name, in the catalog and in each pack' },
  service: { meaning: 'The state of skillsyncd.service of systemd. None is fine' },
  'second-opinion': {
    meaning: 'The stored files against their digests, and the served commit against a second reader',
  },
  connect: { meaning: 'Each step of the clients of both eras at the address, with the likely cause' },
} as const satisfies Readonly<Record<string, CodeText>>

/** The findings of `verify`. One of an upstream has the code of its error. */
export const STORE_FINDINGS = {
  'checkout-edited': {
    meaning: 'A file in a folder that an agent reads was edited; store.db is intact',
    fix: 'Nothing: the folder is restored at the next publish, start or request',
  },
  'file-damaged': {
    meaning: 'A served file is missing or damaged. No client gets it',
    fix: 'A daemon fetches it at the next read',
  },
  'snapshot-damaged': {
    meaning: "A part of the store's own records is missing or damaged",
    fix: 'skillsyncd sync, or a restart, serves the newest whole generation',
  },
  'generation-damaged': {
    meaning: 'A stored generation cannot be read, or all are lost',
    fix: 'skillsyncd sync, or a restart, serves the newest whole generation',
  },
  'record-damaged': {
    meaning: 'The record of an earlier generation cannot be read',
    fix: 'Nothing: it goes 90 days after its time',
  },
  'database-damaged': {
    meaning: 'SQLite finds damage in store.db. Nothing that differs from its digest is served',
    fix: 'Look for a failing disk; then stop the daemon, move the state folder away, and restore a backup, or let skillsyncd sync fetch everything again',
  },
  'object-damaged': {
    meaning: 'Bytes in store.db are damaged that no stored generation has',
    fix: 'Find what damages files there',
  },
  'decisions-damaged': {
    meaning: 'decisions.json is damaged, missing or unreadable. If its equal copy was read, decisions hold',
    fix: 'Give it and decisions-copy.json to the user of the daemon; correct one of them (JSON), or restore it from a backup',
  },
  'decisions-lost': {
    meaning: 'decisions.json and its copy are gone. Decisions hold by their record, generations/decisions.json',
    fix: 'Restore the file from a backup, or copy the record to it, or remove the record, which drops all decisions; then restart the daemon',
  },
  stranger: {
    meaning: 'A checkout contains something that is not of the skill',
    fix: 'Nothing, or remove it',
  },
  'proof-damaged': {
    meaning: 'The stored commit and tag do not lead to what is served',
    fix: 'skillsyncd sync; if it stays, check the repository before you trust it',
  },
  'proof-missing': {
    meaning: 'The commit or tag that proves what is served was not stored',
    fix: 'Nothing: the lock or the digests are the only proof',
  },
  'proof-refused': {
    meaning: 'The file was changed, or the key is not that of its log',
    fix: 'Get the file and the public key again, each from its origin',
  },
  'folder-differs': {
    meaning: 'The folder has other files than the skill of the proof',
    fix: 'Compare the folder with its origin',
  },
  'log-not-read': {
    meaning: 'A part of a log could not be compared, as of a folder that is behind or empty',
    fix: 'Nothing, if intended; else skillsyncd hub publish at the hub, or skillsyncd sync here',
  },
  'lock-missing': {
    meaning: 'A source follows the lock, and there is none',
    fix: 'skillsyncd lock makes one',
  },
  'lock-unreadable': {
    meaning: 'The lock cannot be read, or is no lock',
    fix: LOCK_UNREADABLE,
  },
  'lock-not-followed': {
    meaning: 'The lock has the source, and is not followed: `lock: ignore`, or the source is held',
    fix: 'Nothing, if intended; skillsyncd release SOURCE ends a hold',
  },
  'lock-not-served': {
    meaning: 'A source is in the lock, and nothing of it is served',
    fix: 'See the problem of the source in skillsyncd status',
  },
  'lock-differs': {
    meaning: 'What is served is not what is locked',
    fix: 'skillsyncd update SOURCE accepts the current state; skillsyncd sync returns to the lock, with `lock: ignore` sync --locked does',
  },
  'upstream-not-asked': { meaning: 'The source was not asked for what it has now', fix: 'Run it without --offline' },
  'upstream-moved': {
    meaning: 'Upstream has something newer than what is served',
    fix: 'skillsyncd status --upstream shows what is newer',
  },
  'commit-gone': {
    meaning: 'Upstream no longer has the served commit; the store does',
    fix: 'skillsyncd update SOURCE moves to what is there instead',
  },
  'second-opinion-differs': {
    meaning:
      'The second reader has a file differently: stored files were changed, the host sends two clients different content, or one reader is wrong',
    fix: 'skillsyncd disable the skill, copy the state folder, and compare with git show COMMIT:PATH of a clone',
  },
  'not-compared': {
    meaning: 'The second reader, which has no ssh and no SHA-256, cannot get the served commit',
    fix: 'Nothing: digests and commit id were compared',
  },
  'links-damaged': {
    meaning: 'links.json is damaged or unreadable. Folders of agents keep their state; link refuses',
    fix: 'Remove the file and link again',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The problems of what has a state, beside those of sources and skills. */
export const STATE_PROBLEMS = {
  'database-away': {
    meaning: 'The database of a hub of several processes cannot be used',
    fix: 'skillsyncd doctor checks the database',
  },
  'leader-missing': {
    meaning: 'No process of a hub of several leads, so none pulls',
    fix: 'The log of each process says why it does not lead',
  },
  'folder-behind': {
    meaning: 'A folder of an agent does not have what is served',
    fix: 'The command that the message names brings it',
  },
  'folder-blocked': {
    meaning: 'A skill is served, and something else is at its place in a folder of an agent',
    fix: 'The message names the place, and what helps',
  },
  'not-ready': {
    meaning: '/readyz answers 503: nothing is served, or a source with `required: true` is not, or is too old',
    fix: 'Fix the problem of the source, or remove `required`',
  },
  'ring-stopped': {
    meaning: 'A ring does not take the next commit of a source: a skill of it is disabled, or its use fails too often',
    fix: 'skillsyncd status --rings shows the reason, and what comes next',
  },
  'token-expiring': {
    meaning: 'A token has expired, or will within two weeks',
    fix: 'skillsyncd hub token renew NAME, or skillsyncd hub token revoke NAME',
  },
  'tokens-unreadable': {
    meaning: 'The tokens cannot be read, so no token is accepted',
    fix: 'skillsyncd hub token list shows the reason',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The codes of skills that their content does not explain. */
export const SKILL_PROBLEMS = {
  'awaiting-approval': {
    meaning: 'A skill of another MCP server is not served before a person approves it',
    fix: 'skillsyncd approve SOURCE/PATH',
  },
  disabled: {
    meaning: 'A person took the skill out of service, here or at another place that has it too',
    fix: 'skillsyncd enable SOURCE/PATH',
  },
  'skill-recalled': {
    meaning: 'The skill is out of service at all followers of the hub that recalled it',
    fix: 'skillsyncd enable ID at that hub',
  },
  'scan-finding': {
    meaning: 'The scanner of `gate` reported something in the content of a skill',
    fix: 'skillsyncd why SKILL shows all that it reported',
  },
  'skill-removed': {
    meaning: 'A skill that was served is in no source any more',
    fix: 'skillsyncd diff with the two generations that the message names',
  },
  'skill-renamed': {
    meaning: 'A skill that was served has another name or folder now',
    fix: 'skillsyncd why with the new name',
  },
  'skill-scanned': {
    meaning: 'A skill is disabled because a scan refuses its content, until a scan clears it',
    fix: 'skillsyncd enable SOURCE/PATH accepts the content',
  },
  'skill-unlisted': {
    meaning: 'A skill is partly served: it is in no list, and clients find it by its URI or its longest id alone',
    fix: 'Nothing, if intended; else take it out of `unlisted` of the source',
  },
  'stray-link': {
    meaning: 'A SKILL.md is a link that leads nowhere, in a folder with the name of a skill that is served',
    fix: 'Remove the link from the repository',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The findings of `hub enroll --check`. */
export const ENROLLMENT_CHECKS = {
  'agent-file': {
    meaning: 'The settings file of an agent names the marketplace and its plugins',
    fix: 'Correct what the message names: that is not overwritten',
  },
  'managed-rule': {
    meaning: 'A managed file of the organization keeps an agent from the marketplace',
    fix: 'Ask who manages that file to allow the address of the marketplace',
  },
  marketplace: { meaning: 'The address of the marketplace answers git, with the token of ~/.netrc' },
} as const satisfies Readonly<Record<string, CodeText>>

export type StoreFinding = keyof typeof STORE_FINDINGS

/** Stable, for programs: a check, a finding, or the code of an error that a check met. */
export type CheckName =
  | SkillCode
  | ItemCode
  | keyof typeof MACHINE_CHECKS
  | StoreFinding
  | keyof typeof ENROLLMENT_CHECKS
  | OperatorErrorCode

const RULES: Readonly<Record<string, CodeText>> = {
  ...MACHINE_CHECKS,
  ...STORE_FINDINGS,
  ...STATE_PROBLEMS,
  ...ENROLLMENT_CHECKS,
}

/** The general fix of a check; `undefined` if each of its results has its own, or it is the code of an error. */
export function fixOfCheck(check: CheckName): string | undefined {
  return RULES[check]?.fix
}
