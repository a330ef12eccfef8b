// Package web has the page of the console: HTML, styles and ES modules, as they are served. There is no build step.
//
// The page reads api/v1/... below its own URL, see internal/view for the documents, and nothing else. index.html is its entry; the state of
// the page, such as the view, the node and the moment, is in the fragment of the URL.
package web

import (
	"embed"
	"io/fs"
)

// Policy is the content security policy that the page works under: no inline scripts or styles, and no request to another host.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The folder vendor has libraries by others, with their licenses. Files directly in a folder of this name are part of a Go module, those of
// folders below it are not.
//
//go:embed index.html app.css icon.svg js/*.js vendor/*.mjs vendor/*.css vendor/*.LICENSE
var files embed.FS

// Files are the files of the page, with index.html at the root.
func Files() fs.FS { return files }
