// Preloaded into a server on stdio: the server works normally, but its first answer that contains "hold this answer" is
// held back. The file that TESTKIT_HELD names then has the process id, so that the process can be killed during the call.
import { writeFileSync } from 'node:fs';

const write = process.stdout.write;

process.stdout.write = function (chunk, ...rest) {
  return (String(chunk).includes('hold this answer') && hold()) || write.call(this, chunk, ...rest);
};

// hold records that an answer is held, unless this process or another one has held one before.
function hold() {
  try {
    writeFileSync(process.env.TESTKIT_HELD, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}
