// Preloaded into a server on stdio: it does what it is asked, but the first answer with "hold this answer" in it does not
// go out. The file that TESTKIT_HELD names then holds the id of the process, which can be ended in the middle of that call.
import { writeFileSync } from 'node:fs';

const write = process.stdout.write;

process.stdout.write = function (chunk, ...rest) {
  return (String(chunk).includes('hold this answer') && hold()) || write.call(this, chunk, ...rest);
};

// hold notes that an answer is held, unless one was before, by this process or another.
function hold() {
  try {
    writeFileSync(process.env.TESTKIT_HELD, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}
