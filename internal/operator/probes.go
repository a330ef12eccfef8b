package operator

import (
	"fmt"
	"net/http"
	"strings"
)

// check is one condition of a probe. Its error is the text of the probe's response.
type check struct {
	name string
	run  func(*http.Request) error
}

// ping is always well: the process answers.
func ping(*http.Request) error { return nil }

// probeHandler serves liveness, which is a ping, and readiness, which has a check for each thing that may be missing.
func probeHandler(ready *readiness) http.Handler {
	mux := http.NewServeMux()
	handleChecks(mux, "/healthz", []check{{"ping", ping}})
	handleChecks(mux, "/readyz", []check{{"manager", ready.caches}, {"crd", ready.definitions}, {"readyz", ping}})
	return mux
}

// handleChecks serves all checks at path and each at path/<name>. The answer is 200 "ok" when all are well, and otherwise 500 with a line
// for each; ?verbose shows the lines in both cases.
func handleChecks(mux *http.ServeMux, path string, checks []check) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { answer(w, r, checks) })
	for _, c := range checks {
		mux.HandleFunc(path+"/"+c.name, func(w http.ResponseWriter, r *http.Request) { answer(w, r, []check{c}) })
	}
}

func answer(w http.ResponseWriter, r *http.Request, checks []check) {
	var lines strings.Builder
	code := http.StatusOK
	for _, c := range checks {
		if err := c.run(r); err != nil {
			code = http.StatusInternalServerError
			fmt.Fprintf(&lines, "[-]%s: %v\n", c.name, err)
			continue
		}
		fmt.Fprintf(&lines, "[+]%s: ok\n", c.name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	text := lines.String()
	if code == http.StatusOK && !r.URL.Query().Has("verbose") {
		text = "ok"
	}
	_, _ = w.Write([]byte(text))
}
