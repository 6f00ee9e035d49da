# ---- What is read.

class Failure(Exception):
    """A failure. record is its JSON form, version 1: kind, code, message, retry, afterMs, effect, and what else there is to say."""

    def __init__(self, stated, result=None):
        self.stated = stated  # as it was read: without the advice that record derives from its kind
        self.record = _encode(stated)
        self.result = result  # of a call that has failed in part: the items that have succeeded
        self.kind = self.record["kind"]
        super().__init__(self.record.get("message") or KINDS[self.kind]["sentence"])


class Question(Exception):
    """A question to the caller, which is no failure. record has message, reason, fields, suggestions, options."""

    def __init__(self, record):
        self.record = record
        super().__init__(record["message"])


