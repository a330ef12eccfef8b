// Package homebrew writes a formula for Homebrew that installs the released archives.
package homebrew

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"

	"github.com/karpenter-anew/karpenter/tools/release/program"
	"github.com/karpenter-anew/karpenter/tools/release/source"
)

// Download is the archive for one platform.
type Download struct {
	Platform program.Platform
	// Address is where it can be downloaded, SHA256 its digest in hexadecimal.
	Address, SHA256 string
}

const formula = `class {{ .Class }} < Formula
  desc "Launch nodes for pending pods, and explain and simulate these decisions"
  homepage "{{ .Home }}"
  version "{{ .Version }}"
  license "Apache-2.0"
{{ range .Systems }}
  on_{{ .Name }} do
{{- range .Downloads }}
    on_{{ if eq .Platform.Architecture "arm64" }}arm{{ else }}intel{{ end }} do
      url "{{ .Address }}"
      sha256 "{{ .SHA256 }}"
    end
{{- end }}
  end
{{ end }}
  def install
    bin.install "{{ .Name }}"
    bash_completion.install "completions/{{ .Name }}.bash" => "{{ .Name }}"
    zsh_completion.install "completions/_{{ .Name }}"
    fish_completion.install "completions/{{ .Name }}.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/{{ .Name }} version")
  end
end
`

type system struct {
	Name      string
	Downloads []Download
}

// Formula returns the formula of a program.
func Formula(name, version string, downloads []Download) ([]byte, error) {
	var systems []system
	for _, s := range []struct{ os, name string }{{"darwin", "macos"}, {"linux", "linux"}} {
		one := system{Name: s.name}
		for _, d := range downloads {
			if d.Platform.OS == s.os {
				one.Downloads = append(one.Downloads, d)
			}
		}
		if len(one.Downloads) == 0 {
			return nil, fmt.Errorf("no archive is for %s", s.os)
		}
		systems = append(systems, one)
	}
	var out bytes.Buffer
	err := template.Must(template.New("formula").Parse(formula)).Execute(&out, map[string]any{
		"Class": strings.ToUpper(name[:1]) + name[1:], "Name": name, "Home": source.Home, "Version": version, "Systems": systems,
	})
	return out.Bytes(), err
}
