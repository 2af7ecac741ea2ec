import { STORE_FINDINGS } from '../../../daemon/cli/check-names.ts'
import type { CodeText } from '../../../daemon/runtime/operator-error.ts'

const CONTRACT = {
  meaning:
    'Skills of the frontmatter contract do not fit together. They are served; those with one id not at `resource://`',
  fix: 'Correct the frontmatter of the named skills, or disable one',
}

const NOT_SHARED = {
  meaning:
    'In a hub of several: decisions or tokens were not read in the database, or the local copy not written. The process uses what it has',
  fix: 'See the message, which has a statement for a damaged or lost row',
}

/** The events after which there is something to do; without a `fix`, what the message or its code says. */
const FAULTS = {
  'tokens-not-read': {
    meaning: '`tokens.json` is not readable, so no token is accepted',
    fix: 'Correct or remove it; it is read again at the next `hub token add` or `hub token revoke`',
  },
  'marketplace-skill-left-out': {
    meaning: 'A skill is in no plugin of the marketplace; other clients have it',
    fix: 'Rename the named file, or nothing',
  },
  'promotion-stopped': {
    meaning: 'A ring takes nothing of a source',
    fix: '`skillsyncd status --rings` has the reason; `skillsyncd promote SOURCE --now` takes the commit all the same',
  },
  'promotion-failed': { meaning: 'The next state of the rings was not written' },
  'ring-not-repaired': {
    meaning: 'Content of a later ring is damaged, and its commit cannot be fetched again',
    fix: 'If upstream lost it, `skillsyncd promote SOURCE --now` has the rings take newer content',
  },
  'not-published': {
    meaning: 'The marketplace was not pushed, or a channel not written',
    fix: '`skillsyncd status` has the fix',
  },
  'usage-not-shared': { meaning: 'In a hub of several: counts of use did not reach the database, and wait on disk' },
  'lock-not-taken': {
    meaning: 'The newest lock of the repository is not taken. The one before holds',
    fix: 'For `history-rewritten` restore the branch, or set `lock.from.accept` to the new commit',
  },
  'reach-not-written': {
    meaning: 'The followers of the channels were not written; the report of a recall has them until a restart',
  },
  'reach-not-shared': {
    meaning: 'In a hub of several: the report of a recall has only the followers that this process knows, and says so',
  },
  'hub-not-followed': {
    meaning:
      'In a hub of several: the process cannot take over what another one published, or change its part. It serves what it has, and does not lead',
  },
  'hub-sources-not-applied': { meaning: 'The followed hub has other sources, and the change to them failed' },
  'witness-failed': {
    meaning: 'A witness of a log brought no cosignature',
    fix: 'Nothing, if the others are enough; else see `log-unwitnessed`',
  },
  'not-cosigned': {
    meaning:
      '`skillsyncd hub witness` refused a checkpoint. 422: it does not continue the cosigned one, or anyone sent a wrong proof',
    fix: 'If the hub reports `log-unwitnessed` too, a copy of its state or key is in use elsewhere',
  },
  'cannot-write': { meaning: 'An `mcp` process cannot write the state folder, and serves what is stored' },
  'issuer-not-asked': {
    meaning:
      'The issuer of `serve.oauth` gave no metadata or keys. Known keys count; without any, its tokens are refused',
    fix: 'Open `ISSUER/.well-known/openid-configuration` from this machine',
  },
  'sign-in-failed': {
    meaning: 'A person could not sign in to the page, for a cause that an operator can remove',
    fix: 'See the sign-in of docs/troubleshooting.md',
  },
  'sign-ins-not-shared': {
    meaning: 'In a hub of several: the database is away, and a sign-in or its end counts at this process only',
  },
  'sessions-not-kept': { meaning: 'Sessions are not written and end with the process', fix: 'See `store-failed`' },
  'folder-not-watched': {
    meaning: 'The folder of a source is read on its schedule alone: no watches left, or over 8,192 folders',
    fix: 'Raise `fs.inotify.max_user_watches`, or name a smaller folder',
  },
  'content-not-fetched': {
    meaning: 'A file of a skill of another MCP server is not available',
    fix: 'See the code; for `limit-exceeded` raise the budget, or wait: hourly budgets become free',
  },
  'content-withheld': {
    meaning: 'A file of a skill of another MCP server has hidden characters. No client got it',
    fix: 'Ask the operator of that server; `hidden_unicode: note` serves it',
  },
  'content-not-read': {
    meaning: 'The system did not open a stored file; the client is asked to retry',
    fix: 'For `EMFILE` raise the descriptor limit (`LimitNOFILE=`, `ulimit -n`)',
  },
  'skill-withheld': {
    meaning: 'The newest content has a skill that must not be served',
    fix: 'Correct SKILL.md as the message says; authors run skillsyncd skill validate FOLDER',
  },
  'skills-kept': {
    meaning: 'A commit broke skills, which are served as of an earlier one',
    fix: 'Mend them: `skillsyncd status` has the faults',
  },
  'approval-revoked': {
    meaning: 'A skill of another MCP server has other files than the approved ones, and is out of service',
    fix: 'Check the change, then `skillsyncd approve SOURCE/PATH`',
  },
  'scan-withheld': {
    meaning: 'A scan took a skill out of service',
    fix: '`skillsyncd why` shows the findings; `skillsyncd enable SOURCE/PATH` serves this content all the same',
  },
  'scan-refused': {
    meaning: 'A scan refuses a skill, which is served because the configuration only reports that',
    fix: '`skillsyncd why` shows the findings; then `skillsyncd disable`, or `skillsyncd verify --scan --withhold`',
  },
  'scan-waiting': {
    meaning: 'Scans refuse more skills than `gate.rescan.most_withheld` allows. None was taken out of service',
    fix: 'Check the rules of the scanner; `skillsyncd verify --scan --withhold` takes all of them out',
  },
  'scan-unanswered': { meaning: 'The scanner gave no answer for one skill, which stays as it is' },
  'scan-failed': { meaning: 'The scanner gives no answer. It is asked again after ten minutes' },
  'links-not-read': STORE_FINDINGS['links-damaged'],
  'links-damaged': STORE_FINDINGS['links-damaged'],
  'links-not-switched': {
    meaning: 'Folders of agents show the earlier state, or lack a damaged skill',
    fix: 'See `store-failed`',
  },
  'folders-not-followed': {
    meaning: 'A folder of `links` is not up to date. Agents keep what is there',
    fix: 'Do what the message says, then skillsyncd sync',
  },
  'service-manager-not-told': {
    meaning: 'systemd was not notified: a start may time out, or the watchdog may restart the daemon',
    fix: 'Install `systemd-notify`, with `NotifyAccess=all` in the unit',
  },
  'source-moved': {
    meaning: 'The host redirects a source to another address of its own, which is followed',
    fix: 'Write the new address into `url`: hosts drop such redirects in time',
  },
  'store-replaced': {
    meaning:
      '`store.db` was removed or damaged. A new one is filled from the sources; what upstream lost does not return',
    fix: 'If something is missing, stop the daemon, move the state folder away and `skillsyncd store restore` a backup',
  },
  'store-log-made-again': {
    meaning: '`store.db-wal` or `store.db-shm` was removed; nothing is lost',
    fix: 'Find what removes files there',
  },
  'store-mended': {
    meaning: 'The disk lost something of the state folder, which was written or is fetched again',
    fix: 'Find what damages files there: `skillsyncd verify`',
  },
  'served-lost': {
    meaning: 'The disk lost what is served of a source. An older commit is served, or nothing',
    fix: 'Nothing while upstream answers; else as for `store-replaced`',
  },
  'decisions-damaged': {
    meaning: '`decisions.json` was not readable. Its equal copy was read, and the daemon writes the file again',
    fix: 'Find what damages files there: `skillsyncd verify`',
  },
  'decisions-lost': STORE_FINDINGS['decisions-lost'],
  'decisions-not-read': {
    meaning:
      'Neither `decisions.json` nor its copy is readable: nothing is pulled, and a process that starts serves nothing, because any skill may be disabled',
    fix: 'See `store-failed`',
  },
  'decisions-not-shared': NOT_SHARED,
  'tokens-not-shared': NOT_SHARED,
  'shared-store-away': {
    meaning:
      'In a hub of several: the database is away. The process serves what it has, and refuses commands that change something',
    fix: '`skillsyncd doctor` checks the database',
  },
  'hub-configs-differ': {
    meaning: 'In a hub of several: processes have different configurations, so content comes and goes with the lead',
    fix: 'Give all one configuration',
  },
  'shared-store-behind': {
    meaning: 'The database had lost publications; a process has put them there again',
    fix: 'Check why the copy was behind',
  },
  'disabled-not-followed': {
    meaning: 'A new place of a disabled skill was not written; a rename from there could bring it back',
    fix: 'See `store-failed`; restart the daemon once the disk is writable',
  },
  'id-clash': CONTRACT,
  'dependency-missing': CONTRACT,
  'dependency-cycle': CONTRACT,
  'audit-not-written': { meaning: 'A line of the audit log was not written; requests are answered all the same' },
  'collection-failed': { meaning: 'What is no longer needed was not removed from the store' },
  'content-mismatch': {
    meaning: 'An MCP server sent other bytes than it declares; the skill is withheld',
    fix: 'Tell the operator of that server; skillsyncd mcp-source mirror SOURCE/PATH has its files read again',
  },
  'control-socket-made-again': {
    meaning: 'The socket for commands was removed, and made again',
    fix: 'Find what removes files there',
  },
  'control-socket-not-made': { meaning: 'Commands do not reach the daemon', fix: 'See `socket-failed`' },
  'gate-unanswered': { meaning: 'The gate gives no answer, and the commit waits' },
  'history-rewritten': {
    meaning: 'A rewritten branch was followed',
    fix: 'Ask who rewrote it; `skillsyncd log` has the commits',
  },
  'not-reloaded': {
    meaning: 'The changed configuration is not applied: the message names the line',
    fix: 'Correct it, and run skillsyncd reload',
  },
  'pull-failed': { meaning: 'A source could not be pulled' },
  'record-not-written': {
    meaning: 'After a restart, status may be older than the truth',
    fix: 'See `store-failed`',
  },
  'request-failed': {
    meaning: 'A request failed for a fault of the program or of the disk',
    fix: 'Report it if it is no fault of the disk',
  },
  'search-not-made': { meaning: 'The index of the search was not built; skills are listed all the same' },
  'served-read-only': {
    meaning: 'The daemon serves what is stored and writes nothing',
    fix: 'Let the user of the daemon write to the state folder',
  },
  'source-waiting': {
    meaning: 'The newest commit of a source waits',
    fix: 'See the code: skillsyncd status has the next step',
  },
  'upstream-not-forgotten': { meaning: 'Files of an MCP server that is no longer configured were not removed' },
  'usage-not-written': { meaning: 'Counts of use were not written' },
  'webhook-refused': {
    meaning: 'A webhook was refused: a wrong secret, provider or source, or an unreadable secret',
    fix: 'Compare its secret with the configuration',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The events after which nothing is to be done, with their meaning. */
const NEWS = {
  'ring-promoted': 'A ring took the named commit of a source, which the ring before it serves',
  published: 'The marketplace was pushed to a git host as the named commit',
  'hub-sources':
    'The followed hub has other sources, which are followed from now on. `gone`: those that wait for the operator, or that the lock has',
  'lock-moved': 'Another commit of the repository of the lock is in force, and the sources move to what it names',
  'skill-recalled': 'An operator recalled a skill or a digest here; `skillsyncd disable --report ID` shows its reach',
  'recall-revoked': 'An operator ended a recall here',
  'recall-obeyed': 'A recall of a followed hub is in force here; `log` names its channel',
  'channel-published': 'A channel has a new entry, or new objects in its folder; `entries` is the length of its log',
  'witness-started': '`skillsyncd hub witness` listens, for the named logs',
  cosigned: '`skillsyncd hub witness` has cosigned the named log with so many entries',
  'lock-watched':
    'The owner of the state folder is a process of another container or machine, or of before a restart. Its place is taken if its lease is unchanged for 10 s',
  'code-refused': 'The issuer did not accept the code of a sign-in (`invalid_grant`), as when a page is loaded again',
  'sessions-not-read':
    '`sessions.journal` is damaged: some 2025 clients get 404, and open another session or need a restart',
  'request-answered': 'With `--log-level debug`, by `mcp`: a request. Of tool arguments only ids are logged',
  'request-refused': 'With `--log-level debug`, by `mcp`: a refusal, with its reason',
  'generation-served': 'With `--log-level debug`, by `mcp`: the generation that it begins to serve',
  'scan-cleared': 'A skill that scans had taken out of service is in service again',
  'scan-ended': 'Everything was scanned again',
  'server-odd': 'An MCP server sends something unknown without effect, such as another `$schema` in its index',
  'folder-followed': 'The daemon added and removed that many skills in a folder of `links`',
  'hub-role': 'A process of a hub of several begins to lead, or leads no more (`leads`)',
  'generation-replaced':
    'The database had lost publications, and another process published first; the next pull brings what upstream has',
  'content-damaged': 'A served file is missing or damaged. No client gets it, and its source is pulled again',
  decided: 'A person decided on a source, a ring of it or a skill',
  'disabled-returns': 'A disabled skill is at another place, or another skill has its files. It stays out of service',
  'folder-watched': 'The folder of a source is watched again',
  reloaded: 'The daemon applied the configuration anew',
  'skill-approved': 'A person approved a skill of another MCP server',
  'skill-measured': 'The context cost of a served skill, with --log-level debug',
  'skill-named': 'A skill has the name that clients call it by',
  'skill-unnamed': 'A skill lost its short name to another, and is called by its full id',
  'source-nudged': 'A webhook or a watch asked for a pull of the source',
  'source-resolved': 'The ref of a source was read, with --log-level debug',
  'source-unchanged': 'A pull found what is served',
  'source-updated':
    'A source serves another commit. `changes` names its skills by what became of them: up to ten of each kind, and the number of the others',
  started: 'The daemon listens',
  stopping: 'The daemon ends',
  'upstream-drifted': 'A locked or held source has something newer upstream; skillsyncd update SOURCE takes it',
  'upstream-forgotten': 'Files of an MCP server that is no longer configured were removed',
  'usage-moved-aside': 'Counts of use were not readable, and were moved aside; counting begins anew',
  recovered: 'What failed works again; the event of the failure is named',
}

/** The events of the log that a person may ask about. */
export const LOG_EVENTS: Readonly<Record<string, CodeText>> = {
  ...FAULTS,
  ...Object.fromEntries(Object.entries(NEWS).map(([code, meaning]) => [code, { meaning, fix: 'Nothing' }])),
}
