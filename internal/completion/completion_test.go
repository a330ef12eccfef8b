package completion

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// grammar has one of each thing that scripts deal with.
type grammar struct {
	Verbose bool `help:"Say more. And more." short:"v"`
	Draw    struct {
		Format string   `help:"It's the format: [png] or svg." enum:"png,svg" default:"png" short:"o"`
		Config string   `placeholder:"FILE" help:"Settings."`
		Color  string   `help:"Any color." complete:"red,green"`
		Secret string   `hidden:""`
		Files  []string `arg:"" optional:"" name:"file" help:"Inputs."`
	} `cmd:"" help:"Draw a file."`
	Show struct {
		Width int `help:"Columns."`
		Map   struct {
			Name string `arg:"" help:"Its name."`
		} `cmd:"" help:"Show a map."`
		Legend struct {
			Kind string `arg:"" enum:"short,long" help:"Which."`
		} `cmd:"" help:"Show a legend."`
	} `cmd:"" help:"Show one thing."`
	Gone struct{} `cmd:"" hidden:""`
}

func script(t *testing.T, shell string) string {
	t.Helper()
	parser, err := kong.New(&grammar{}, kong.Name("draft"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, shell, parser.Model); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// offered has bash complete a line whose words are given, the last of which is being typed.
func offered(t *testing.T, file string, words ...string) string {
	t.Helper()
	const program = `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _draft; echo "${COMPREPLY[*]}"`
	out, err := exec.Command("bash", append([]string{"-uc", program, file}, words...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestBashOffersWhatFits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "draft.bash")
	if err := os.WriteFile(file, []byte(script(t, "bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"draft |", "draw show"},
		{"draft s|", "show"},
		{"draft --|", "--help --verbose"},
		{"draft show |", "map legend"},
		{"draft show --width 3 l|", "legend"},
		{"draft show legend |", "short long"},
		{"draft show legend --|", "--help --verbose --width"},
		{"draft draw --f|", "--format"},
		{"draft draw --format |", "png svg"},
		{"draft draw -o s|", "svg"},
		{"draft draw --format =|", "png svg"},
		{"draft draw --format = s|", "svg"},
		{"draft draw --color |", "red green"}, // any other is accepted, too
		{"draft draw --config |", ""},         // files
		{"draft draw --s|", ""},               // hidden
		{"draft draw --verbose |", ""},
		{"draft -v |", "draw show"},
	} {
		line := strings.TrimSuffix(c.line, "|")
		if got := offered(t, file, strings.Split(line, " ")...); got != c.want {
			t.Errorf("%s offers %q, want %q", c.line, got, c.want)
		}
	}
}

func TestScriptsNameCommandsFlagsAndValues(t *testing.T) {
	for shell, want := range map[string][]string{
		"zsh": {
			"#compdef draft\n", "'draw:Draw a file'", "legend) _draft_show_legend ;;",
			"'*--format=[It’s the format: (png) or svg]:FORMAT:(png svg)'", "'*-o[", "'*--config=[Settings]:FILE:_files'", "'*--verbose[Say more]'",
			"'*:FILE:_files'", "'1:KIND:(short long)'", "compdef _draft draft",
		},
		"fish": {
			"complete -c draft -n '__draft_at draft' -a draw -d 'Draw a file'",
			"complete -c draft -n '__draft_at draft show' -a legend -d 'Show a legend'",
			"complete -c draft -n '__draft_at draft draw' -l format -s o -x -a 'png svg' -d 'It’s the format: [png] or svg'",
			"complete -c draft -n '__draft_at draft draw' -l config -r -F -d 'Settings'",
			"complete -c draft -n '__draft_at draft draw' -F\n",
			"complete -c draft -n '__draft_at draft show legend' -a 'short long'",
			"complete -c draft -n '__draft_at draft show legend' -l verbose -s v -d 'Say more'",
		},
	} {
		got := script(t, shell)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("the script for %s lacks %s:\n%s", shell, part, got)
			}
		}
		for _, part := range []string{"secret", "gone"} {
			if strings.Contains(got, part) {
				t.Errorf("the script for %s has the hidden %s", shell, part)
			}
		}
	}
}

func TestUnknownShell(t *testing.T) {
	parser, err := kong.New(&grammar{}, kong.Name("draft"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(&bytes.Buffer{}, "tcsh", parser.Model); err == nil || !strings.Contains(err.Error(), "bash, zsh or fish") {
		t.Errorf("error %v, want one that names the shells", err)
	}
}
