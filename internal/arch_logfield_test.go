package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// logCalls are functions whose arguments are log fields, by how many arguments come before these.
func logCalls() map[string]int {
	return map[string]int{
		"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "Log": 3,
		"LogAttrs": 3, "With": 0, "WithValues": 0, "WithFields": 1, "WithLogFields": 1,
	}
}

// attributeMakers are the functions of log/slog that make a field.
const attributeMakers = " String Int Int64 Uint64 Float64 Bool Time Duration Group GroupAttrs Any "

// TestLogFieldsAreMadeInOnePlace: the name and the type of a log field are written down once, in internal/observe/logfield or in the
// package of a provider like it. See docs/reference/logs.md.
func TestLogFieldsAreMadeInOnePlace(t *testing.T) {
	checked := 0
	for _, top := range []string{"../cloud", "../cmd", "."} {
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || makesLogFields(filepath.Dir(path)) {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					checked++
					if why := adHocField(call); why != "" {
						t.Errorf("%s: %s: use a function of internal/observe/logfield", files.Position(call.Pos()), why)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked == 0 {
		t.Error("no call was checked")
	}
}

// makesLogFields reports whether a package makes fields, or writes log lines.
func makesLogFields(folder string) bool {
	return strings.HasSuffix(folder, "field") || filepath.ToSlash(folder) == "observe"
}

// adHocField says how a call names a log field itself; empty when it does not.
func adHocField(call *ast.CallExpr) string {
	callee, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	name := callee.Sel.Name
	of, _ := callee.X.(*ast.Ident)
	if of != nil && of.Name == "slog" && strings.Contains(attributeMakers, " "+name+" ") {
		return "slog." + name + " names a log field"
	}
	skip, ok := logCalls()[name]
	if !ok || len(call.Args) <= skip || of != nil && (of.Name == "t" || of.Name == "http") {
		return ""
	}
	for _, field := range call.Args[skip:] {
		if text, ok := field.(*ast.BasicLit); ok && text.Kind == token.STRING {
			return name + " has the log field " + text.Value
		}
	}
	return ""
}

// TestAdHocLogFieldsAreFound: the check above finds what it is for.
func TestAdHocLogFieldsAreFound(t *testing.T) {
	for text, found := range map[string]bool{
		`log.Info("x", "NodeClaim", name)`:                        true,
		`log.With("controller", name)`:                            true,
		`slog.String("NodeClaim", name)`:                          true,
		`log.ErrorContext(ctx, "x", logfield.Error(err), "a", 1)`: true,
		`observe.WithFields(err, "zone", zone)`:                   true,
		`log.Info("x", logfield.NodeClaim(name))`:                 false,
		`log.Info("x")`: false,
		`http.Error(w, "x", http.StatusForbidden)`: false,
	} {
		expression, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := adHocField(expression.(*ast.CallExpr)); (got != "") != found {
			t.Errorf("%s: %q", text, got)
		}
	}
}
