/** Paths that no file of a skill has, whatever source it is of. Each begins below the folder of the skill. */
export const REFUSED_PATHS: Readonly<Record<string, string>> = {
  'the configuration of a repository': '.git/config',
  'a file in place of a repository': '.git',
  'a repository in a folder': 'assets/.git/HEAD',
  'a repository in upper case': '.GIT/config',
  'the short name of a repository': 'git~1/config',
  'the short name in upper case': 'GIT~1/config',
  'a repository with a dot behind it': '.git./config',
  'a repository with a space behind it': '.git /config',
  'a repository by its stream': '.git::$INDEX_ALLOCATION/config',
  'a repository with a joiner in it': '.g\u200cit/config',
  'a repository with a mark before it': '\ufeff.git/config',
  'a repository with a mark of direction': '.gi\u202et/config',
  'a backslash': 'a\\b',
  'a repository behind a backslash': 'x\\.git\\config',
}

/** Paths that a skill of a hub does not have besides, wherever its follower is. */
export const REFUSED_OF_HUB: Readonly<Record<string, string>> = {
  'an escape sequence': 'x\u001b[2J.md',
  'a line feed': 'x\ny.md',
  'a carriage return': 'Icon\r',
  'a control character of Latin-1': 'x\u009b2J.md',
  'a separator of lines': 'x\u2028y.md',
  'a separator of paragraphs': 'x\u2029y.md',
  'a delete character': 'x\u007f.md',
  'the stream of a file': 'a:b',
  'the letter of a drive': 'C:x.md',
  'a dot at its end': 'a.',
  'a space at the end of a folder': 'a /b.md',
  'the name of a device': 'CON',
  'the name of a device with an ending': 'assets/aux.md',
}

/** Names that are withheld by the policy about invisible characters, as in any source. */
export const DECEPTIVE_PATHS: Readonly<Record<string, string>> = {
  tags: 'x\u{e0049}\u{e0067}.md',
  'a right-to-left override': 'x\u202egpj.sh',
}
