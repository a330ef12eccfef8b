package firstboot

import (
	"errors"
	"fmt"
	"strings"
)

// Commands of EKS scripts for Windows.
const (
	powershellFile = `[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`
	powershellCall = "& $EKSBootstrapScriptFile "
)

// readPowerShell runs the one script between the tags: the user's lines, and the call of the bootstrap script.
func readPowerShell(userData string) (Settings, error) {
	before, rest, found := strings.Cut(userData, "<powershell>")
	script, after, ended := strings.Cut(rest, "</powershell>")
	switch {
	case !found || !ended:
		return Settings{}, errNoJoin
	case strings.TrimSpace(before+after) != "" || strings.Contains(script, "<powershell>"):
		return Settings{}, errors.New("there is more than one script, and only the first would run")
	}
	var s Settings
	known := false
	for line := range strings.Lines(script) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case line == powershellFile:
			known = true
		case strings.HasPrefix(line, powershellCall):
			if !known {
				return Settings{}, errors.New("$EKSBootstrapScriptFile is not set when it is called")
			}
			if err := s.start(strings.TrimPrefix(line, powershellCall)); err != nil {
				return Settings{}, err
			}
		default:
			s.Ran = append(s.Ran, line)
		}
	}
	if s.Cluster == "" {
		return Settings{}, errNoJoin
	}
	return s, nil
}

// quotes are the characters that PowerShell takes for a single quote.
const quotes = "'\u2018\u2019\u201a\u201b"

// quoted reads a text in single quotes, in which two quotes stand for one, and returns what follows.
func quoted(text string) (value, rest string, ok bool) {
	var out strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch {
		case !strings.ContainsRune(quotes, runes[i]):
			out.WriteRune(runes[i])
		case i+1 < len(runes) && strings.ContainsRune(quotes, runes[i+1]):
			out.WriteRune(runes[i])
			i++
		default:
			return out.String(), string(runes[i+1:]), true
		}
	}
	return "", "", false
}

// start reads the arguments of the bootstrap script. Values are in single quotes.
func (s *Settings) start(arguments string) error {
	for arguments = strings.TrimSpace(arguments); arguments != ""; arguments = strings.TrimSpace(arguments) {
		name, rest, ok := strings.Cut(arguments, " '")
		value, rest, ends := quoted(rest)
		if !ok || !ends {
			return fmt.Errorf("reading the arguments %q", arguments)
		}
		arguments = rest
		switch name {
		case "-EKSClusterName":
			s.Cluster = value
		case "-APIServerEndpoint":
			s.Endpoint = value
		case "-Base64ClusterCA":
			s.Authority = value
		case "-DNSClusterIP":
			s.DNS = value
		case "-KubeletExtraArgs":
			if err := s.kubeletFlags(value); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the bootstrap script has no parameter %s", name)
		}
	}
	return nil
}
