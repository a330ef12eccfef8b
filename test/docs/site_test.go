package docs

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// siteVersion is the version of the site of these tests, olderVersion that of one that was built before.
const siteVersion, olderVersion = "1.2.3", "1.2.0"

// site is the site that "make docs" builds, by the path of each file below the folder of its version.
type site struct {
	dir   string
	files map[string]string
	pages map[string]*html.Node
}

// siteFolder is the folder that the site was built in; empty if no test needed it.
var siteFolder string

// buildSite builds the site once for all tests.
var buildSite = sync.OnceValues(func() (*site, error) {
	dir, err := os.MkdirTemp("", "karpenter-site-")
	if err != nil {
		return nil, err
	}
	siteFolder = dir
	older := filepath.Join(dir, olderVersion)
	if err := os.MkdirAll(older, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(older, "search-index.js"), nil, 0o600); err != nil {
		return nil, err
	}
	if text, err := exec.Command("make", "-C", root, "docs", "VERSION="+siteVersion, "SITE="+dir).CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: "make docs\n" + string(text), Err: err}
	}
	s := &site{dir: dir, files: map[string]string{}, pages: map[string]*html.Node{}}
	top := filepath.Join(dir, siteVersion)
	return s, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name := filepath.ToSlash(strings.TrimPrefix(path, top+string(filepath.Separator)))
		s.files[name] = string(text)
		if err == nil && strings.HasSuffix(name, ".html") {
			s.pages[name], err = html.Parse(strings.NewReader(string(text)))
		}
		return err
	})
})

func TestMain(m *testing.M) {
	code := m.Run()
	if siteFolder != "" {
		_ = os.RemoveAll(siteFolder)
	}
	os.Exit(code)
}

// theSite is the site, or the end of the test.
func theSite(t *testing.T) *site {
	t.Helper()
	s, err := buildSite()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// attribute is an attribute of an element, empty if it has none.
func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// elements are the elements of a page.
func elements(page *html.Node) []*html.Node {
	var out []*html.Node
	for n := range page.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

// sitePath is where a page of the repository is in the site.
func sitePath(name string) string {
	name = strings.TrimPrefix(name, "docs/")
	if dir, ok := strings.CutSuffix(name, "README.md"); ok {
		if strings.HasPrefix(name, "charts/") {
			return strings.TrimSuffix(dir, "/") + ".html"
		}
		return dir + "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

func TestTheSiteHasEveryPage(t *testing.T) {
	s := theSite(t)
	names := []string{"charts/karpenter/README.md", "charts/karpenter-crd/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) < 5 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		for _, path := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
	}
	for _, name := range names {
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		built, ok := s.pages[sitePath(name)]
		if !ok {
			t.Errorf("%s is not in the site as %s", name, sitePath(name))
			continue
		}
		count, title := 0, ""
		for _, n := range elements(built) {
			switch n.DataAtom {
			case atom.H1, atom.H2, atom.H3, atom.H4:
				count++
			case atom.Title:
				title = n.FirstChild.Data
			}
		}
		if want := len(headings(page{text: string(source)})); count != want {
			t.Errorf("%s has %d headings, and %d in the site", name, want, count)
		}
		first, _, _ := strings.Cut(string(source)[strings.Index(string(source), "# ")+2:], "\n")
		if want := strings.ReplaceAll(first, "`", ""); !strings.HasPrefix(title, want) {
			t.Errorf("%s has the title %q, want %q", name, title, want)
		}
	}
}

// TestTheSiteHasNoDeadLink follows every address in a page: it is relative, so that the site may be in any folder, it names a file, and
// an anchor of it.
func TestTheSiteHasNoDeadLink(t *testing.T) {
	s := theSite(t)
	links := 0
	for name, page := range s.pages {
		for _, n := range elements(page) {
			for _, key := range []string{"href", "src"} {
				address := attribute(n, key)
				switch {
				case address == "" || strings.HasPrefix(address, "data:,"):
				case n.DataAtom == atom.A && strings.HasPrefix(address, "https://"):
				default:
					links++
					if wrong := s.follow(name, address); wrong != "" {
						t.Errorf("%s: %s %s", name, address, wrong)
					}
				}
			}
		}
	}
	if links < 3000 {
		t.Errorf("%d links were found", links)
	}
}

// follow says what is wrong with an address in a page.
func (s *site) follow(from, address string) string {
	path, anchor, _ := strings.Cut(address, "#")
	if strings.HasPrefix(path, "/") || strings.Contains(path, ":") {
		return "is not relative"
	}
	target := from
	if path != "" {
		target = filepath.ToSlash(filepath.Join(filepath.Dir(from), path))
	}
	if _, ok := s.files[target]; !ok {
		return "leads to no file"
	}
	if anchor == "" {
		return ""
	}
	if page, ok := s.pages[target]; ok {
		for _, n := range elements(page) {
			if attribute(n, "id") == anchor {
				return ""
			}
		}
	}
	return "leads to no anchor"
}

// TestTheSiteLoadsNothingFromElsewhere checks what a browser loads without a click: scripts, styles, images, fonts.
func TestTheSiteLoadsNothingFromElsewhere(t *testing.T) {
	s := theSite(t)
	loading := regexp.MustCompile(`@import|\burl\(|fetch\(|XMLHttpRequest|https?:|["'` + "`" + `]//`)
	for _, name := range []string{"site.css", "site.js"} {
		if found := loading.FindString(s.files[name]); found != "" || s.files[name] == "" {
			t.Errorf("%s has %q", name, found)
		}
	}
	for name, page := range s.pages {
		for _, n := range elements(page) {
			outside := func(key string) bool { return strings.Contains(attribute(n, key), "//") }
			if n.DataAtom != atom.A && (outside("href") || outside("src") || outside("srcset") || outside("style") || outside("data")) {
				t.Errorf("%s: <%s> loads something from elsewhere: %v", name, n.Data, n.Attr)
			}
			if n.DataAtom == atom.Iframe || n.DataAtom == atom.Style || n.DataAtom == atom.Script && attribute(n, "src") == "" {
				t.Errorf("%s has a <%s>", name, n.Data)
			}
		}
	}
}

// TestEverythingCanBeSearched checks that the index has a section for every page and every heading of the second level.
func TestEverythingCanBeSearched(t *testing.T) {
	s := theSite(t)
	text := strings.TrimSpace(s.files["search-index.js"])
	if !strings.HasPrefix(text, "karpenterSearch(") || !strings.HasSuffix(text, ");") {
		t.Fatal("search-index.js does not call karpenterSearch")
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "karpenterSearch("), ");")
	var sections []struct{ At, Page, Heading, Text string }
	if err := json.Unmarshal([]byte(text), &sections); err != nil {
		t.Fatal(err)
	}
	indexed := map[string]bool{}
	for _, section := range sections {
		indexed[section.At] = true
		if wrong := s.follow("index.html", section.At); wrong != "" {
			t.Errorf("the index has %s, which %s", section.At, wrong)
		}
		if section.Page == "" || strings.ContainsAny(section.Page+section.Heading, "<>") || strings.Contains(section.Text, "<td") {
			t.Errorf("the section %s is %q, %q", section.At, section.Page, section.Heading)
		}
	}
	for name, page := range s.pages {
		listing := name == "reference/index.html" || name == "charts/index.html" || name == "repository/index.html"
		if !listing && !indexed[name] {
			t.Errorf("the index does not have %s", name)
		}
		for _, n := range elements(page) {
			if n.DataAtom == atom.H2 && !indexed[name+"#"+attribute(n, "id")] {
				t.Errorf("the index does not have %s#%s", name, attribute(n, "id"))
			}
		}
	}
}

func TestTheSiteKeepsItsVersions(t *testing.T) {
	s := theSite(t)
	for name, want := range map[string]string{
		"versions.js": `karpenterVersions(["` + siteVersion + `","` + olderVersion + `"]);`,
		"index.html":  `url=` + siteVersion + `/index.html"`,
	} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s: %s %v", name, want, text, err)
		}
	}
	for name, page := range s.pages {
		for _, n := range elements(page) {
			if version := attribute(n, "data-version"); n.DataAtom == atom.Select && version != siteVersion {
				t.Errorf("%s is of version %q", name, version)
			}
		}
	}
}

// TestVersionsAreNamesOfFolders: the folder of a version is emptied, so that none above the site may be named.
func TestVersionsAreNamesOfFolders(t *testing.T) {
	for _, version := range []string{"..", "../other", "1/2", ".", "", "a b", "<b>"} {
		dir := filepath.Join(t.TempDir(), "site")
		text, err := exec.Command("make", "-C", root, "docs", "VERSION="+version, "SITE="+dir).CombinedOutput()
		if err == nil || !strings.Contains(string(text), "is no version: use letters, digits, dots, plus and minus signs") {
			t.Errorf("version %q: %v\n%s", version, err, text)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("version %q made a folder", version)
		}
	}
}

// TestPagesOfTheSiteCanBeReached checks that each page can be left and operated with a keyboard: a link to skip the navigation, names of
// fields and landmarks, the current page in the navigation.
func TestPagesOfTheSiteCanBeReached(t *testing.T) {
	s := theSite(t)
	current := 0
	for name, page := range s.pages {
		seen := map[string]int{}
		for _, n := range elements(page) {
			switch {
			case n.DataAtom == atom.Main || n.DataAtom == atom.H1:
				seen[n.Data]++
			case n.DataAtom == atom.Nav && attribute(n, "aria-label") != "", n.DataAtom == atom.Label && attribute(n, "for") == "query":
				seen[n.Data]++
			case n.DataAtom == atom.A && attribute(n, "href") == "#content":
				seen["skip"]++
			case attribute(n, "aria-current") == "page":
				current++
			}
		}
		for _, key := range []string{"main", "h1", "nav", "label", "skip"} {
			if seen[key] != 1 {
				t.Errorf("%s has %d of %s, want one", name, seen[key], key)
			}
		}
	}
	if current < 30 {
		t.Errorf("%d pages are in the navigation", current)
	}
}
