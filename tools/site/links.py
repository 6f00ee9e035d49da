"""Links of a page that leave docs/ lead to the repository."""

import posixpath
import re

LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)

    def outside(link):
        path = posixpath.normpath(posixpath.join("docs", folder, link[1]))
        if path.startswith("docs/") and not path.startswith("docs/schemas"):
            return link[0]
        return config.repo_url + "/blob/main/" + path + (link[2] or "")

    return LINK.sub(outside, markdown)
