package console

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/web"
)

// secured sets the headers that protect the page.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", web.Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// page serves static files. Each is read and compressed once.
type page struct {
	files fs.FS

	mu     sync.Mutex
	loaded map[string]answer
}

// ServeHTTP serves the file with the path of the URL, without the prefix; index.html for a directory.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	file, ok := p.load(name)
	if !ok {
		fail(w, http.StatusNotFound, "there is no such page: the console begins at /, or at /console/ where the controller serves it")
		return
	}
	h := w.Header()
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // the host may know other types
	case ".js", ".mjs":
		kind = "text/javascript; charset=utf-8"
	case ".css":
		kind = "text/css; charset=utf-8"
	case ".svg":
		kind = "image/svg+xml"
	case "":
		kind = "text/plain; charset=utf-8"
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", file.tag)
	h.Add("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == file.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	send(w, r, file.plain, file.zipped)
}

// load reads a file once. Files are embedded in the program, so that they do not change.
func (p *page) load(name string) (answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, ok := p.loaded[name]; ok {
		return found, true
	}
	if !fs.ValidPath(name) {
		return answer{}, false
	}
	text, err := fs.ReadFile(p.files, name)
	if err != nil {
		return answer{}, false
	}
	sum := sha256.Sum256(text)
	file := answer{tag: `W/"` + hex.EncodeToString(sum[:16]) + `"`, plain: text, zipped: zip(text)}
	p.loaded[name] = file
	return file, true
}
