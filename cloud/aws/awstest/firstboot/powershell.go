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

// start reads the arguments of the bootstrap script. Values are in single quotes.
func (s *Settings) start(arguments string) error {
	for arguments = strings.TrimSpace(arguments); arguments != ""; arguments = strings.TrimSpace(arguments) {
		name, rest, ok := strings.Cut(arguments, " '")
		value, rest, ends := strings.Cut(rest, "'")
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
