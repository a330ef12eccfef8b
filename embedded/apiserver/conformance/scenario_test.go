package conformance_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// A scenario is an archive. A file without the suffix "answer" is a request: a line with method and path, headers, an empty line, and the body in
// YAML, which is sent as JSON unless a header gives another content type. The file "NAME answer" has the status and the body of its answer.
//
// {ns} stands for a namespace that is made for the scenario, and its name is unique, so that cluster-scoped objects can be called {ns}-x.
// A path that ends with ?wait is asked until it is there. ${NAME.path.to.field} stands for a field of the answer to request NAME.
//
// In answers, what differs from run to run is replaced: UIDs and resource versions by numbered names, so that it shows which are the same;
// times, ages and generated names by fixed words. A line "ignore: PATH, because …" before the first file leaves a field out of all
// answers of the scenario; managed fields are left out unless there is a line "managed fields". A line "header: NAME" adds a header to the
// answers. A line "given: NAME" first sends the requests of testdata/given/NAME.txtar, whose answers are not compared.

type scenario struct {
	name    string
	path    string
	archive *txtar.Archive
	given   []txtar.File
	ignored [][]string
	headers []string
	managed bool
}

var (
	ignoreLine = regexp.MustCompile(`(?m)^ignore: (\S+), because .+$`)
	givenLine  = regexp.MustCompile(`(?m)^given: (\S+)$`)
	headerLine = regexp.MustCompile(`(?m)^header: (\S+)$`)
)

// load reads the scenarios of a directory.
func load(t *testing.T, dir string) []scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var out []scenario
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := scenario{name: "ns-" + strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive}
		for _, match := range ignoreLine.FindAllSubmatch(archive.Comment, -1) {
			s.ignored = append(s.ignored, strings.Split(string(match[1]), "."))
		}
		for _, match := range givenLine.FindAllSubmatch(archive.Comment, -1) {
			given, err := txtar.ParseFile(filepath.Join("testdata", "given", string(match[1])+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			s.given = append(s.given, given.Files...)
		}
		for _, match := range headerLine.FindAllSubmatch(archive.Comment, -1) {
			s.headers = append(s.headers, string(match[1]))
		}
		s.managed = bytes.Contains(archive.Comment, []byte("managed fields\n"))
		out = append(out, s)
	}
	return out
}

// has reports whether a request of the scenario contains a text.
func (s scenario) has(text string) bool {
	return slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return bytes.Contains(f.Data, []byte(text)) })
}

// target is a server under test.
type target struct {
	url    string
	client *http.Client
}

func newTarget(url string, config *tls.Config) target {
	return target{url, &http.Client{Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 8}}}
}

// run sends the requests of the scenario and returns the answers by name of the request.
func (s scenario) run(t *testing.T, to target) map[string]string {
	t.Helper()
	r := &runner{scenario: s, to: to, answers: map[string]any{}, names: map[string]string{}}
	r.names[s.name] = "{ns}"
	code, body := r.send(t, http.MethodPost, "/api/v1/namespaces", nil, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.name+`"}}`))
	if code != http.StatusCreated {
		t.Fatalf("creating the namespace: %d %s", code, body)
	}
	for _, file := range s.given {
		if answer := r.step(t, file.Name, string(file.Data)); !strings.HasPrefix(answer, "2") {
			t.Fatalf("%s: %s", file.Name, answer)
		}
	}
	out := map[string]string{}
	for _, file := range s.archive.Files {
		if !strings.HasSuffix(file.Name, " answer") {
			out[file.Name] = r.step(t, file.Name, string(file.Data))
		}
	}
	return out
}

// check compares the answers with the recorded ones.
func (s scenario) check(t *testing.T, got map[string]string) {
	t.Helper()
	want := map[string]string{}
	for _, file := range s.archive.Files {
		if name, ok := strings.CutSuffix(file.Name, " answer"); ok {
			want[name] = string(file.Data)
		}
	}
	for _, file := range s.archive.Files {
		name := file.Name
		if strings.HasSuffix(name, " answer") {
			continue
		}
		if want[name] == "" {
			t.Errorf("%s: no recorded answer; run the tests with -update", name)
		} else if got[name] != want[name] {
			t.Errorf("%s\n%s", name, difference(want[name], got[name]))
		}
	}
}

// difference shows the lines that are only in one of the texts, without those around them that are the same.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&out, "- %s\n", a[i])
			i++
		default:
			fmt.Fprintf(&out, "+ %s\n", b[j])
			j++
		}
	}
	return out.String()
}

// record writes the answers into the file of the scenario.
func (s scenario) record(t *testing.T, got map[string]string) {
	t.Helper()
	out := &txtar.Archive{Comment: s.archive.Comment}
	for _, file := range s.archive.Files {
		if strings.HasSuffix(file.Name, " answer") {
			continue
		}
		out.Files = append(out.Files, file, txtar.File{Name: file.Name + " answer", Data: []byte(got[file.Name])})
	}
	if err := os.WriteFile(s.path, txtar.Format(out), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runner is a run of a scenario.
type runner struct {
	scenario
	to      target
	answers map[string]any    // JSON by name of the request
	names   map[string]string // what replaces UIDs and the namespace
	uids    int
	// versions are the resource versions in the order in which they were seen.
	versions []string
}

var reference = regexp.MustCompile(`\$\{([^}]+)\}`)

// step sends a request and returns its answer as text.
func (r *runner) step(t *testing.T, name, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, "{ns}", r.name)
	text = reference.ReplaceAllStringFunc(text, func(match string) string {
		path := strings.Split(match[2:len(match)-1], ".")
		value := r.answers[path[0]]
		for _, key := range path[1:] {
			content, _ := value.(map[string]any)
			value = content[key]
		}
		if value == nil {
			t.Fatalf("%s: %s has no value", name, match)
		}
		return fmt.Sprint(value)
	})
	head, payload, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, ok := strings.Cut(lines[0], " ")
	if !ok {
		t.Fatalf("%s: the first line must be a method and a path", name)
	}
	headers := http.Header{}
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, ": ")
		headers.Set(key, value)
	}
	raw := []byte(payload)
	if payload != "" && !strings.Contains(headers.Get("Content-Type"), "yaml") && headers.Get("Raw") == "" {
		var err error
		if raw, err = yaml.YAMLToJSON([]byte(payload)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	headers.Del("Raw")
	code, body := r.send(t, method, path, headers, raw)
	if strings.HasSuffix(path, "?wait") { // kube-apiserver serves a definition a moment after it is created
		for code == http.StatusNotFound {
			code, body = r.send(t, method, path, headers, raw)
		}
	}
	return fmt.Sprintf("%d\n%s", code, r.normalize(t, name, body))
}

func (r *runner) send(t *testing.T, method, path string, headers http.Header, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.to.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"User-Agent": {"conformance/1"}, "Accept": {"application/json"}}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, headers)
	response, err := r.to.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	out, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.headers {
		if value := response.Header.Get(name); value != "" {
			out = append([]byte(fmt.Sprintf("{%q:%q}\n", name, value)), out...)
		}
	}
	for _, warning := range slices.Sorted(slices.Values(response.Header.Values("Warning"))) {
		out = append([]byte(fmt.Sprintf("{\"warning\":%q}\n", warning)), out...)
	}
	return response.StatusCode, out
}

// normalize turns a body into text without what differs from run to run: one document for each JSON value.
func (r *runner) normalize(t *testing.T, name string, body []byte) string {
	t.Helper()
	var documents []string
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	for {
		var value any
		err := decoder.Decode(&value)
		if err == io.EOF { //nolint:errorlint // the decoder returns it as it is
			break
		}
		if err != nil {
			return strings.TrimSpace(string(body)) + "\n"
		}
		if event, ok := value.(map[string]any); ok && event["type"] == "BOOKMARK" && !strings.Contains(fmt.Sprint(event), "initial-events-end") {
			continue
		}
		r.answers[name] = value
		forgetVersion(value)
		value = r.clean(value, nil)
		text, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	return strings.Join(documents, "---\n")
}

// forgetVersion clears the version of a bookmark, which other scenarios change as well.
func forgetVersion(value any) {
	event, _ := value.(map[string]any)
	object, _ := event["object"].(map[string]any)
	if meta, ok := object["metadata"].(map[string]any); ok && event["type"] == "BOOKMARK" {
		meta["resourceVersion"] = ""
	}
}

var (
	timePattern   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	agePattern    = regexp.MustCompile(`^(\d+[smhd])+$`)
	uidPattern    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	recordPattern = regexp.MustCompile(`(in record|precondition) \(\d+\)`)
	// innerPattern finds times and versions in texts that quote objects.
	innerPattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|resourceVersion\\?"?:\\?"?\d+`)
)

// clean replaces what differs from run to run. path is where the value is; indices of lists are not part of it.
func (r *runner) clean(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		if kind, _ := v["kind"].(string); len(path) == 0 && (strings.HasSuffix(kind, "List") || kind == "Table" && v["metadata"] != nil) {
			if meta, ok := v["metadata"].(map[string]any); ok && meta["resourceVersion"] != nil {
				meta["resourceVersion"] = "" // that of the server, which other scenarios change as well
			}
		}
		if v["kind"] == "Table" {
			r.cleanTable(v)
		}
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := append(slices.Clone(path), key)
			if r.leaves(at) {
				continue
			}
			if key == "fieldsV1" {
				out[key] = v[key]
				continue
			}
			out[key] = r.clean(v[key], at)
		}
		if generated, _ := v["generateName"].(string); generated != "" && out["name"] != nil {
			name, _ := v["name"].(string)
			r.names[name] = generated + "<generated>"
			out["name"] = r.names[name]
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.clean(v[i], path)
		}
		if len(path) > 0 && path[len(path)-1] == "managedFields" {
			// Their order depends on the second in which they were written.
			slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return out
	case string:
		return r.cleanText(v, path)
	}
	return value
}

// leaves tells whether a field is left out of the answers.
func (r *runner) leaves(path []string) bool {
	if path[len(path)-1] == "managedFields" && !r.managed {
		return true
	}
	return slices.ContainsFunc(r.ignored, func(ignored []string) bool {
		return len(path) >= len(ignored) && slices.Equal(path[len(path)-len(ignored):], ignored)
	})
}

func (r *runner) cleanTable(table map[string]any) {
	columns, _ := table["columnDefinitions"].([]any)
	for _, c := range columns {
		if column, ok := c.(map[string]any); ok {
			delete(column, "description")
		}
	}
	rows, _ := table["rows"].([]any)
	for _, one := range rows {
		row, _ := one.(map[string]any)
		cells, _ := row["cells"].([]any)
		for i, cell := range cells {
			if text, ok := cell.(string); ok && agePattern.MatchString(text) {
				cells[i] = "<age>"
			}
		}
	}
}

func (r *runner) cleanText(text string, path []string) string {
	key := ""
	if len(path) > 0 {
		key = path[len(path)-1]
	}
	switch {
	case key == "resourceVersion" && text != "":
		i := slices.Index(r.versions, text)
		if i < 0 {
			i, r.versions = len(r.versions), append(r.versions, text)
		}
		return fmt.Sprintf("<version %d>", i+1)
	case key == "continue" && text != "":
		return "<token>"
	case timePattern.MatchString(text):
		return "<time>"
	}
	text = uidPattern.ReplaceAllStringFunc(text, func(uid string) string {
		if r.names[uid] == "" {
			r.uids++
			r.names[uid] = fmt.Sprintf("<uid %d>", r.uids)
		}
		return r.names[uid]
	})
	text = strings.ReplaceAll(text, r.name, "{ns}")
	for name, generated := range r.names {
		if strings.HasSuffix(generated, "<generated>") {
			text = strings.ReplaceAll(text, name, generated)
		}
	}
	text = recordPattern.ReplaceAllString(text, "$1 (<version>)")
	return innerPattern.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "resourceVersion") {
			return strings.TrimRight(match, "0123456789") + "<version>"
		}
		return "<time>"
	})
}
