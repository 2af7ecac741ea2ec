/**
 * The file of tests that triggers each raise. A run of the file fails if one of its raises was not reached; `raises.test.ts`
 * fails for a raise without a row here, and prints what the row is to be.
 */
export const TRIGGERS: Readonly<Record<string, readonly string[]>> = {
  'test/conformance/host/older-forms.test.ts': [
    'sync/upstream/mcp/client/entry-requests costsOnly source-unreachable',
    'sync/upstream/mcp/pages enumerationFault content-refused',
    'sync/upstream/mcp/pages enumerationRefusal source-unreachable',
    'sync/upstream/mcp/pages over limit-exceeded',
  ],
  'test/sync/store/decisions.test.ts': ['sync/store/decision-files recall store-failed'],
  'test/conformance/host/causes.test.ts': [
    'daemon/mcp-sources/fetch-budget over limit-exceeded',
    'daemon/mcp-sources/verified-read withhold content-refused',
    'daemon/mcp-sources/verified-read notGiven content-refused',
  ],
  'test/conformance/host/mismatch.test.ts': [
    'daemon/mcp-sources/known-mismatches knownRefusalOf content-refused',
    'sync/upstream/mcp/server-connection absent source-unreachable',
  ],
  'test/daemon/cli/change/sync.test.ts': ['daemon/pull/pull-context cleanError given'],
  'test/daemon/cli/doctor/checks.test.ts': ['sync/store/decision-files read store-failed'],
  'test/daemon/cli/run/store-copy.test.ts': [
    'daemon/replicas/state-copy expectContained store-failed',
    'daemon/cli/run/store-copy nameless store-failed',
    'daemon/replicas/state-copy expectContained store-failed 2',
    'daemon/replicas/state-copy decisionsIn store-failed',
    'daemon/replicas/state-copy writeLog store-failed',
    'sync/store/postgres/postgres-objects each store-failed',
    'sync/store/postgres/shared-state contentError store-failed',
    'sync/store/postgres/shared-state runningError store-failed',
  ],
  'test/daemon/cli/run/token-changes.test.ts': ['daemon/cli/run/token-changes refuseWrite store-failed'],
  'test/daemon/config/auth.test.ts': [
    'daemon/config/auth sshKeyOf credentials-rejected',
    'daemon/config/auth readSecret credentials-rejected',
    'daemon/config/auth readSecret credentials-rejected 2',
    'daemon/config/auth rawSecret credentials-rejected',
    'daemon/config/auth readSecretFile credentials-rejected',
    'daemon/config/auth readSecretFile credentials-rejected 2',
    'daemon/config/auth readSecretFile credentials-rejected 3',
    'daemon/config/auth readSecretFile credentials-rejected 4',
  ],
  'test/daemon/connect/probe-fetch.test.ts': [
    'daemon/connect/probe-fetch bounded limit-exceeded',
    'daemon/connect/probe-fetch fetch source-unreachable',
  ],
  'test/daemon/control/control.test.ts': [
    'daemon/control/control-client toldError given',
    'daemon/control/control-client tooLong limit-exceeded',
    'daemon/control/control tooLong limit-exceeded',
  ],
  'test/daemon/control/daemon-lock.test.ts': [
    'daemon/control/daemon-lock read store-failed',
    'daemon/control/daemon-lock lockError store-failed',
  ],
  'test/daemon/control/write-lock.test.ts': ['daemon/control/write-lock readOnly store-failed'],
  'test/daemon/credentials/keyring.test.ts': [
    'daemon/credentials/credential-helper askHelper credentials-rejected',
    'daemon/credentials/credential-helper askHelper credentials-rejected 2',
    'daemon/credentials/credential-helper askHelper credentials-rejected 3',
    'daemon/credentials/credential-helper askHelper credentials-rejected 4',
    'daemon/credentials/credential-helper run credentials-rejected',
    'daemon/credentials/github-app keyFrom credentials-rejected',
    'daemon/credentials/github-app refusalOf credentials-rejected',
    'daemon/credentials/github-app refusalOf source-unreachable',
    'daemon/credentials/github-app textOf limit-exceeded',
    'daemon/credentials/github-app givenIn source-unreachable',
  ],
  'test/daemon/damaged-files.test.ts': [
    'daemon/agent-folders/links-file readLinks store-failed',
    'daemon/agent-folders/links-file writeLinks store-failed',
    'daemon/audit/audit-file open store-failed',
    'daemon/control/control-path realPathOf store-failed',
    'daemon/usage/usage-database expectUsage store-failed',
    'daemon/usage/usage-database expectUsage store-failed 2',
  ],
  'test/daemon/http/tokens.test.ts': ['daemon/http/tokens add limit-exceeded', 'daemon/http/tokens read store-failed'],
  'test/daemon/publish/channel-keeper.test.ts': ['daemon/publish/channel-keys channelSigners credentials-rejected'],
  'test/daemon/publish/refused.test.ts': [
    'daemon/publish/branch-publisher expected store-failed',
    'daemon/publish/publish-tree publishTree source-unreachable',
  ],
  'test/daemon/publish/witnesses.test.ts': ['sync/witness/gather-cosignatures gatherCosignatures source-unreachable'],
  'test/daemon/pull/document-thread.test.ts': ['daemon/pull/document-thread unsearchedError limit-exceeded'],
  'test/daemon/replicas/replica.test.ts': [
    'daemon/replicas/replica commit store-failed',
    'daemon/replicas/replica commit store-failed 2',
  ],
  'test/daemon/replicas/shared-commands.test.ts': [
    'daemon/replicas/hub-member pull store-failed',
    'daemon/replicas/shared-commands receive store-failed',
    'daemon/replicas/shared-commands takeAnswer given',
    'daemon/replicas/shared-commands takeAnswer given 2',
  ],
  'test/daemon/schedule/keyed-queue.test.ts': ['daemon/schedule/keyed-queue tooLong source-unreachable'],
  'test/daemon/sessions/session-lookups.test.ts': [
    'daemon/sessions/session-lookups find store-failed',
    'daemon/sessions/session-lookups find store-failed 2',
    'daemon/sessions/session-lookups wait store-failed',
  ],
  'test/daemon/witness/witness-server.test.ts': ['sync/witness/cosigned-logs read store-failed'],
  'test/sync/channel/channel-tree.test.ts': ['sync/channel/channel-tree expectObject store-failed'],
  'test/sync/channel/damaged-log.test.ts': [
    'sync/channel/channel-log refusal store-failed',
    'sync/channel/channel-tree expected store-failed',
    'sync/channel/folder-channel expectOwn store-failed',
    'sync/channel/log-file expectAsWritten store-failed',
    'sync/channel/log-file expectAsWritten store-failed 2',
    'sync/channel/log-file damaged store-failed',
  ],
  'test/sync/decisions/recalled-skills.test.ts': ['sync/decisions/recalled-skills withList limit-exceeded'],
  'test/sync/model/sync-error.test.ts': ['sync/model/sync-error offlineError source-unreachable'],
  'test/sync/pull/move-policy.test.ts': [
    'sync/pull/move-policy standingHold given',
    'sync/pull/move-policy standingHold given 2',
  ],
  'test/sync/pull/pull.test.ts': [
    'sync/pull/fetch-snapshot expectFits limit-exceeded',
    'sync/pull/fetch-snapshot expectRoom limit-exceeded',
    'sync/pull/fetch-snapshot refuseInvalid content-refused',
    'sync/store/objects/local-blobs read store-failed',
  ],
  'test/sync/pull/take-published.test.ts': [
    'sync/channel/walk-channel refusal content-refused',
    'sync/channel/walk-channel tooMany limit-exceeded',
    'sync/pull/take-published refusal content-refused',
    'sync/upstream/channel/channel-objects ofOtherSize content-refused',
  ],
  'test/sync/store/backup/backup.test.ts': [
    'sync/store/backup/backup checkContents store-failed',
    'sync/store/backup/backup checkContents store-failed 2',
    'sync/store/files/state-folder halfRestoredError store-failed',
  ],
  'test/sync/store/damaged-files.test.ts': [
    'sync/store/expect-copied misshapen store-failed',
    'sync/store/followed-lock readFollowedLock store-failed',
    'sync/store/followed-logs read store-failed',
    'sync/store/hub-sources readHubSources store-failed',
    'sync/store/objects/sqlite-objects each store-failed',
    'sync/store/skills/skills fetched store-failed',
    'sync/store/skills/stored-path storedSkill store-failed',
    'sync/store/snapshots headIn store-failed',
  ],
  'test/sync/store/files/atomic.test.ts': ['sync/store/files/disk-error cannot store-failed'],
  'test/sync/store/files/file-lock.test.ts': ['sync/store/files/file-lock isBroken store-failed'],
  'test/sync/store/files/journal.test.ts': ['sync/store/files/journal readBounded store-failed'],
  'test/sync/store/files/state-folder.test.ts': [
    'sync/store/files/state-folder formatOf store-failed',
    'sync/store/files/state-folder ownFolder store-failed',
  ],
  'test/sync/store/generations.test.ts': ['sync/store/generations expectStored store-failed'],
  'test/sync/store/migration/migrate-state.test.ts': [
    'sync/store/migration/migrate-state migrationFailure store-failed',
    'sync/store/store open store-failed',
    'sync/store/store openExisting store-failed',
  ],
  'test/sync/store/objects/sqlite-objects.test.ts': [
    'sync/store/objects/database-file openExisting store-failed',
    'sync/store/objects/database databaseFailure store-failed',
    'sync/store/objects/database expectVersion store-failed',
    'sync/store/objects/database expectVersion store-failed 2',
    'sync/store/objects/object-rows pieceAt store-failed',
    'sync/store/objects/object-rows damage store-failed',
  ],
  'test/sync/store/postgres/postgres-database.test.ts': ['sync/store/postgres/postgres-database run store-failed'],
  'test/sync/store/postgres/postgres-objects.test.ts': [
    'sync/store/postgres/postgres-objects headIn store-failed',
    'sync/store/postgres/postgres-objects digestIn store-failed',
    'sync/store/postgres/postgres-objects verified store-failed',
  ],
  'test/sync/store/postgres/schema-version.test.ts': [
    'sync/store/postgres/schema-version expectCompatible store-failed',
    'sync/store/postgres/schema-version deniedError store-failed',
  ],
  'test/sync/store/shared-text.test.ts': [
    'sync/store/decision-files read store-failed 2',
    'sync/store/decision-files recall store-failed 2',
    'sync/store/document-text read store-failed',
    'sync/store/shared-text expectKnown store-failed',
    'sync/store/shared-text readToChange store-failed',
    'sync/store/shared-text swap store-failed',
    'sync/store/shared-text damaged store-failed',
    'sync/store/shared-text notReached store-failed',
  ],
  'test/sync/store/skills/skill-links.test.ts': ['sync/store/skills/skill-links lead store-failed'],
  'test/sync/store/skills/skills.test.ts': [
    'sync/store/skills/skills expectWhole store-failed',
    'sync/store/skills/skills read store-failed',
    'sync/store/skills/stored-path checkDigest store-failed',
  ],
  'test/sync/store/skills/stored-path.test.ts': ['sync/store/skills/stored-path refusal content-refused'],
  'test/sync/store/snapshots.test.ts': [
    'sync/store/snapshot-parts one store-failed',
    'sync/store/snapshots outline store-failed',
  ],
  'test/sync/store/store.test.ts': ['sync/store/store replacedError store-failed'],
  'test/sync/survey/survey.test.ts': ['sync/survey/find-skills count limit-exceeded'],
  'test/sync/upstream/channel/bad-answers.test.ts': [
    'sync/upstream/channel/http-place get source-unreachable',
    'sync/upstream/channel/channel-objects fetchObject content-refused',
    'sync/upstream/channel/channel-upstream unchanged source-unreachable',
    'sync/upstream/channel/http-place read source-unreachable',
    'sync/upstream/channel/http-place read limit-exceeded',
    'sync/upstream/channel/http-place read limit-exceeded 2',
    'sync/upstream/http/http-redirect tooManyRedirects source-unreachable',
  ],
  'test/sync/upstream/channel/bad-log.test.ts': ['sync/upstream/channel/folder-place read source-unreachable'],
  'test/sync/upstream/channel/log-audit.test.ts': [
    'sync/upstream/channel/channel-upstream take content-refused',
    'sync/upstream/channel/channel-upstream audit limit-exceeded',
    'sync/upstream/channel/channel-upstream prove source-unreachable',
    'sync/upstream/channel/channel-upstream recordOfLog source-unreachable',
    'sync/upstream/channel/channel-upstream continued content-refused',
    'sync/upstream/channel/channel-upstream prove content-refused',
    'sync/upstream/channel/channel-upstream audit content-refused',
    'sync/upstream/channel/channel-upstream readEither source-unreachable',
  ],
  'test/sync/upstream/channel/replaced-entry.test.ts': [
    'sync/upstream/channel/channel-objects fetchObject source-unreachable',
  ],
  'test/sync/upstream/folder/directory.test.ts': [
    'sync/survey/find-skills rootFolder source-unreachable',
    'sync/upstream/folder/folder-objects file limit-exceeded',
    'sync/upstream/folder/folder-tree changeError source-unreachable',
    'sync/upstream/folder/folder-walk tooMany limit-exceeded',
  ],
  'test/sync/upstream/folder/passed-over.test.ts': ['sync/upstream/folder/passed-over ignoreFileIn limit-exceeded'],
  'test/sync/upstream/git/disk-refs.test.ts': ['sync/upstream/git/disk-refs wholeOf limit-exceeded'],
  'test/sync/upstream/git/either-upstream.test.ts': ['sync/upstream/git/either-upstream withMore given'],
  'test/sync/upstream/git/git-disk.test.ts': ['sync/upstream/git/disk-objects read content-refused'],
  'test/sync/upstream/git/isomorphic/isomorphic.test.ts': [
    'sync/upstream/git/isomorphic/isomorphic-objects withNextStep limit-exceeded',
    'sync/upstream/git/isomorphic/pack-weight tooLarge limit-exceeded',
  ],
  'test/sync/upstream/git/objects/pack-reader.test.ts': [
    'sync/upstream/git/objects/pack-reader tooMany limit-exceeded',
    'sync/upstream/git/objects/pack-reader damageError source-unreachable',
    'sync/upstream/git/objects/pack-spool expectChecksum source-unreachable',
  ],
  'test/sync/upstream/git/objects/tree-walk.test.ts': [
    'sync/upstream/git/objects/tree-object refusal content-refused',
    'sync/upstream/git/objects/tree-walk check limit-exceeded',
  ],
  'test/sync/upstream/git/program/git-ssh.test.ts': [
    'sync/upstream/git/program/git-ssh-config writeKey credentials-rejected 2',
    'sync/upstream/git/program/object-supply expectRoom limit-exceeded',
    'sync/upstream/git/program/process-group runToEnd source-unreachable',
    'sync/upstream/git/program/program-failure readAs given',
  ],
  'test/sync/upstream/git/program/killed-git.test.ts': ['sync/upstream/git/worker-protocol errorOf source-unreachable'],
  'test/sync/upstream/git/program/process-group.test.ts': [
    'sync/upstream/git/program/process-group constructor source-unreachable',
  ],
  'test/sync/upstream/git/smart-http/discover.test.ts': [
    'sync/upstream/git/smart-http/discover advertisementOf source-unreachable',
    'sync/upstream/git/smart-http/protocol checkedRef source-unreachable',
  ],
  'test/sync/upstream/git/smart-http/git-http.test.ts': [
    'sync/upstream/git/git-tree openFetch source-unreachable',
    'sync/upstream/git/git-worker keepBlob limit-exceeded',
    'sync/upstream/git/git fetch source-unreachable',
    'sync/upstream/git/program/program-failure programFailure source-unreachable',
    'sync/upstream/git/smart-http/git-http read limit-exceeded',
    'sync/upstream/http/http-failure statusFailure credentials-rejected 2',
  ],
  'test/sync/upstream/git/smart-http/pkt-line.test.ts': [
    'sync/upstream/git/smart-http/pkt-line end source-unreachable',
    'sync/upstream/git/smart-http/pkt-line judge source-unreachable',
    'sync/upstream/git/smart-http/pkt-line readLength source-unreachable',
  ],
  'test/sync/upstream/git/smart-http/push-remote.test.ts': [
    'sync/upstream/git/smart-http/push-remote treeOf source-unreachable',
    'sync/upstream/git/smart-http/receive-pack askReceiver source-unreachable',
    'sync/upstream/git/smart-http/receive-pack pushTo source-unreachable',
  ],
  'test/sync/upstream/git/worker-protocol.test.ts': [
    'sync/upstream/git/worker-protocol errorOf credentials-rejected',
    'sync/upstream/git/worker-protocol errorOf given',
  ],
  'test/sync/upstream/http/credential-headers.test.ts': [
    'sync/upstream/http/credential-headers expectHeader credentials-rejected',
  ],
  'test/sync/upstream/http/host-access.test.ts': [
    'sync/upstream/http/http-failure proxyRefusal source-unreachable',
    'sync/upstream/http/http-failure proxyRefusal credentials-rejected',
    'sync/upstream/http/http-failure connectionFailure source-unreachable',
    'sync/upstream/http/http-watch alarm source-unreachable',
  ],
  'test/sync/upstream/http/http-failure.test.ts': [
    'sync/upstream/http/http-failure failureOf credentials-rejected',
    'sync/upstream/http/http-failure failureOf source-unreachable',
    'sync/upstream/http/http-failure gitFailureOf given',
    'sync/upstream/http/http-failure gitFailureOf given 2',
    'sync/upstream/http/http-failure statusFailure credentials-rejected',
    'sync/upstream/http/http-failure statusFailure credentials-rejected 3',
    'sync/upstream/http/http-failure statusFailure source-unreachable',
    'sync/upstream/http/http-redirect signInRedirect credentials-rejected',
    'sync/upstream/http/http-redirect refusedRedirect source-unreachable',
  ],
  'test/sync/upstream/mcp/client/connection.test.ts': [
    'sync/upstream/mcp/client/deadline expect source-unreachable',
    'sync/upstream/mcp/client/http-answer unreadable source-unreachable',
    'sync/upstream/mcp/client/http-answer unreadable source-unreachable 2',
    'sync/upstream/mcp/client/http-answer refused source-unreachable',
    'sync/upstream/mcp/client/http-channel failure source-unreachable',
    'sync/upstream/mcp/client/http-fetch refuse source-unreachable',
    'sync/upstream/mcp/client/http-fetch refuse source-unreachable 2',
    'sync/upstream/mcp/client/http-fetch bounded limit-exceeded',
    'sync/upstream/mcp/client/json-rpc late source-unreachable',
    'sync/upstream/mcp/client/json-rpc module source-unreachable',
  ],
  'test/sync/upstream/mcp/program.test.ts': [
    'sync/upstream/mcp/client/json-rpc giveUp source-unreachable 2',
    'sync/upstream/mcp/client/program-channel send source-unreachable',
    'sync/upstream/mcp/client/program-channel refuse limit-exceeded',
    'sync/upstream/mcp/client/program-channel failure source-unreachable',
  ],
  'test/sync/upstream/unreadable-places.test.ts': [
    'sync/store/snapshot-parts one store-failed 2',
    'sync/upstream/channel/folder-place read limit-exceeded',
    'sync/upstream/channel/folder-place read source-unreachable 2',
    'sync/upstream/folder/folder-error readFault source-unreachable',
    'sync/upstream/folder/folder-tree openAt source-unreachable',
    'sync/upstream/git/disk-transport unlessAbsent source-unreachable',
    'sync/upstream/git/objects/pack-spool inScratch store-failed',
    'sync/upstream/git/objects/scratch-folder folderInScratch store-failed',
    'sync/upstream/git/program/git-program scratchFailure store-failed',
    'sync/upstream/git/program/process-group runToEnd limit-exceeded',
    'sync/upstream/git/smart-http/remote-history found limit-exceeded',
  ],
  'test/sync/upstream/git/damaged-repositories.test.ts': [
    'sync/upstream/git/git-worker readTag content-refused',
    'sync/upstream/git/program/program-objects damageError content-refused',
    'sync/upstream/git/isomorphic/limited-fs expectSmall limit-exceeded',
    'sync/upstream/git/isomorphic/isomorphic-objects object content-refused',
    'sync/upstream/git/isomorphic/isomorphic-objects failure content-refused',
    'sync/upstream/git/git-worker largeObject limit-exceeded',
    'sync/upstream/git/git-worker readTree content-refused',
    'sync/upstream/git/git-worker openTree content-refused',
    'sync/upstream/git/disk-objects failure source-unreachable',
    'sync/upstream/git/disk-objects failure content-refused',
    'sync/upstream/git/isomorphic/isomorphic-objects failure source-unreachable',
    'sync/upstream/git/disk-transport readable source-unreachable',
  ],
  'test/sync/upstream/git/program/odd-git.test.ts': [
    'sync/upstream/git/program/program-objects more source-unreachable',
    'sync/upstream/git/program/program-objects line source-unreachable',
    'sync/upstream/git/program/git-ssh-config writeKey credentials-rejected',
    'sync/upstream/git/program/object-supply endReason content-refused',
    'sync/upstream/git/program/program-transport noList source-unreachable',
  ],
  'test/daemon/control/requests.test.ts': ['daemon/control/control-redaction redactHandler given'],
  'test/sync/pull/fallback/fallback-source.test.ts': ['sync/pull/locked-commit fromFallback given'],
  'test/sync/upstream/folder/read-authored.test.ts': [
    'sync/upstream/folder/read-authored authoredDocument source-unreachable',
  ],
  'test/daemon/gate/gate.test.ts': ['daemon/pull/pull-context gateOf content-refused'],
  'test/sync/upstream/mcp/client/odd-servers.test.ts': [
    'sync/upstream/mcp/named-skills byMethod source-unreachable',
    'sync/upstream/mcp/client/entry-requests request source-unreachable',
    'sync/upstream/mcp/client/entry-requests request source-unreachable 2',
    'sync/upstream/mcp/client/json-rpc giveUp source-unreachable',
    'sync/upstream/mcp/client/json-rpc dry source-unreachable',
    'sync/upstream/mcp/client/http-answer unreadable credentials-rejected',
  ],
  'test/daemon/followed-lock/lock-at-commit.test.ts': [
    'daemon/followed-lock/lock-at-commit lockTextAt source-unreachable',
    'daemon/followed-lock/lock-at-commit lockTextAt limit-exceeded',
  ],
}

const NOT_YET = 'no run of the tests of its room has reached it yet'

/** The raises without a trigger, each with what a trigger would need. None may be added: write the trigger instead. */
export const UNTRIGGERED: Readonly<Record<string, string>> = {
  'daemon/audit/audit-file write store-failed': 'a disk that takes a part of a write and reports no error',
  'daemon/cli/doctor/credential-checks expectReadable credentials-rejected':
    'a file that the user may not read: root, which the suites under faults need, reads all',
  'daemon/cli/store-reader expectLockable source-unreachable':
    'a folder with a part that the user may not read: root, which the suites under faults need, reads all',
  'daemon/cli/verify/log-checks bytesAt source-unreachable':
    'a file that the user may not read: root, which the suites under faults need, reads all',
  'daemon/control/request-file refusalOf content-refused': NOT_YET,
  'daemon/control/request-file mismatchOf content-refused': NOT_YET,
  'daemon/control/request-file refusal content-refused': NOT_YET,
  'daemon/credentials/github-app askForToken source-unreachable':
    'a host that is silent for the whole of a fixed time limit',
  'daemon/enrollment/address-answer failureFor source-unreachable':
    'a host that is silent for the whole of a fixed time limit',
  'daemon/followed-lock/lock-follower expectContinued source-unreachable': NOT_YET,
  'daemon/mcp-sources/verified-read expectReadable content-refused': NOT_YET,
  'daemon/process/writer again store-failed':
    'a hub of several processes whose daemon cannot start again with the configuration that it had',
  'daemon/publish/branch-publisher attempt store-failed':
    'a catalog that becomes incomplete between a failure to publish and the next attempt',
  'daemon/publish/channel-keeper attempt store-failed': NOT_YET,
  'daemon/publish/channel-publisher expectStored store-failed':
    'an object that is lost between the write of a generation and its publication',
  'daemon/publish/channel-publisher readLog store-failed':
    'a log that is replaced between a write of it that failed and the next attempt',
  'daemon/publish/cosigned-head record store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'daemon/publish/shared-channel appendRest store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'daemon/publish/shared-channel append store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'daemon/publish/shared-channel bring store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'daemon/replicas/replica epoch store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'daemon/replicas/shared-files push store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'sync/pull/fetch-snapshot read store-failed': 'the last defense: an earlier check of the same pull refuses it first',
  'sync/store/files/journal writeAll store-failed': 'lines of half a gigabyte, which take twice that memory',
  'sync/store/generations replace store-failed':
    'two processes that publish between one read and one write of the same head',
  'sync/store/postgres/shared-logs refusal store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'sync/survey/survey bytesOf store-failed': 'the last defense: an earlier check of the same pull refuses it first',
  'sync/upstream/folder/passed-over judge limit-exceeded':
    'a folder whose comparison with its ignore files takes a minute',
  'sync/upstream/git/fetch-threads startFailure source-unreachable':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/upstream/git/git-worker queueRequest store-failed': NOT_YET,
  'sync/upstream/git/isomorphic/isomorphic-failure isomorphicFailure source-unreachable': NOT_YET,
  'sync/upstream/git/program/program-transport list source-unreachable':
    'a host that is silent for the whole of a fixed time limit',
  'sync/upstream/git/second-opinion/second-opinion late limit-exceeded':
    'a comparison that takes the whole of a fixed time limit',
  'sync/upstream/git/second-opinion/second-opinion explanationOf limit-exceeded':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/upstream/git/worker-client explanationOf limit-exceeded':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/upstream/git/worker-client explanationOf store-failed':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/upstream/mcp/client/program-channel hear source-unreachable':
    'an error that Node reports of a process after its start, as where it cannot be ended',
  'sync/upstream/mcp/pages pageOf source-unreachable': 'a server that is silent for the whole of a fixed time limit',
}
