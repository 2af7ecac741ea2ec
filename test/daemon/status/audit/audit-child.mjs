// Writes lines into the audit files of a folder, as a process among others does; JavaScript, since it runs the built program.
// argv: the folder, the bytes and the number of the files, who writes, and how many lines.
import { AuditFiles } from '../../../../dist/daemon/status/audit/audit-files.js'

const [, , folder, bytes, files, who, count] = process.argv
const audit = new AuditFiles(folder, { bytes: Number(bytes), files: Number(files) }, Date.now)
const lines = []
for (let number = 0; number < Number(count); number += 1) {
  lines.push(`${JSON.stringify({ who, number, padding: 'x'.repeat(number % 200) })}\n`)
  // Some at a time, so that those of all processes come between each other.
  if (number % 7 === 0) await audit.append(lines)
}
while (lines.length > 0) await audit.append(lines)
