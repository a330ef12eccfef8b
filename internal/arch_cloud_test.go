package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// awsFolders are the folders that may name AWS: the provider, its API, and what is not part of the product.
var awsFolders = []string{"cloud/aws", "api/aws", "test", "docs", "tools"}

// awsExceptions are the files and folders that may name AWS as well, each with the reason. Do not add to it for a new cloud provider: what
// the core has to know about a provider belongs in its plugin.
var awsExceptions = map[string]string{
	"cmd/karpenter/providers.go":      "lists the cloud providers",
	"internal/command/convert":        "converts the earlier APIs, which exist on AWS only and do not change any more",
	"internal/convert":                "converts the earlier APIs, which exist on AWS only and do not change any more",
	"internal/controller/legacy":      "serves the earlier APIs, which exist on AWS only and do not change any more",
	"api/legacy":                      "the types of the earlier APIs",
	"cloud/kwok/label.go":             "the label of eks-node-viewer, a viewer for any cloud",
	"internal/controller/fakecluster": "the scheme of the fake API server has the earlier APIs",
}

var (
	awsInText       = regexp.MustCompile(`(?i)\baws|ec2|k8s\.aws|\beks\b|amazon|bottlerocket`)
	awsInIdentifier = regexp.MustCompile(`AWS|EC2|EKS|Bottlerocket|^(aws|ec2|eks)(v\d|[A-Z_]|$)`)
)

// TestOnlyTheProviderNamesAWS looks at identifiers, strings and imports of all files but tests. Comments may give examples.
func TestOnlyTheProviderNamesAWS(t *testing.T) {
	used := map[string]bool{}
	allowed := func(file string) bool {
		for name := range awsExceptions {
			if file == name || strings.HasPrefix(file, name+"/") {
				used[name] = true
				return true
			}
		}
		return false
	}
	for file, names := range filesNaming(t, awsInIdentifier, awsInText) {
		if slices.ContainsFunc(awsFolders, func(folder string) bool { return strings.HasPrefix(file, folder+"/") }) || allowed(file) {
			continue
		}
		t.Errorf("%s names AWS: %s; what it has to know belongs in the plugin of the provider, see cloud/plugin", file, strings.Join(names, ", "))
	}
	for name := range awsExceptions {
		if !used[name] {
			t.Errorf("%s does not name AWS any more: remove the exception", name)
		}
	}
}

// filesNaming finds the files of this module with identifiers or strings that match, with what matched. Test files, generated files and
// nested modules are left out.
func filesNaming(t *testing.T, identifier, text *regexp.Regexp) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			nested, _ := filepath.Glob(filepath.Join(path, "go.mod"))
			if path != ".." && (len(nested) > 0 || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(d.Name(), "zz_generated") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if identifier.MatchString(n.Name) {
					out[name] = append(out[name], n.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && text.MatchString(n.Value) {
					out[name] = append(out[name], n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
