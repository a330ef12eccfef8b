package firstboot

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// bootstrapScript is the program of the image that makes the instance join.
const bootstrapScript = "/etc/eks/bootstrap.sh"

// readScripts interprets the shell scripts in order, as far as needed here: one of them calls the bootstrap script.
func readScripts(userData string) (Settings, error) {
	parts, err := pieces(userData)
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	for _, p := range parts {
		// The kernel rejects scripts without an interpreter line.
		if p.kind != typeShell || !strings.HasPrefix(strings.TrimSpace(p.text), "#!") {
			continue
		}
		calls, err := commands(p.text)
		if err != nil {
			return Settings{}, err
		}
		joins := false
		for _, words := range calls {
			if words[0] != bootstrapScript {
				continue
			}
			if joins = true; s.Cluster != "" {
				return Settings{}, errors.New("the instance joins twice")
			}
			if err := s.bootstrap(words[1:]); err != nil {
				return Settings{}, err
			}
		}
		if !joins {
			s.Ran = append(s.Ran, strings.TrimSpace(p.text))
		}
	}
	if s.Cluster == "" {
		return Settings{}, errNoJoin
	}
	return s, nil
}

// bootstrap reads the arguments of the bootstrap script.
func (s *Settings) bootstrap(words []string) error {
	ownPods := true
	for len(words) > 0 {
		name := words[0]
		words = words[1:]
		if !strings.HasPrefix(name, "--") {
			s.Cluster = name
			continue
		}
		if len(words) == 0 {
			return fmt.Errorf("%s: %s has no value", bootstrapScript, name)
		}
		value := words[0]
		words = words[1:]
		switch name {
		case "--apiserver-endpoint":
			s.Endpoint = value
		case "--b64-cluster-ca":
			s.Authority = value
		case "--ip-family":
			s.IPv6 = value == "ipv6"
		case "--dns-cluster-ip":
			s.DNS = value
		case "--use-max-pods":
			ownPods = value == "true"
		case "--kubelet-extra-args":
			if err := s.kubeletFlags(value); err != nil {
				return err
			}
		case "--local-disks":
			s.RAID0 = value == "raid0"
		default:
			return fmt.Errorf("%s: unknown argument %s", bootstrapScript, name)
		}
	}
	if address, err := netip.ParseAddr(s.DNS); s.DNS != "" && (err != nil || address.Is6() != s.IPv6) {
		return fmt.Errorf("%s: the address for names %q is not of the pods' family", bootstrapScript, s.DNS)
	}
	if ownPods && s.MaxPods > 0 {
		return fmt.Errorf("%s: --max-pods is given to the kubelet twice", bootstrapScript)
	}
	return nil
}

// commands are the simple commands of a script, each as its words. Keywords of control structures are words too.
func commands(script string) ([][]string, error) {
	var out [][]string
	joined := strings.ReplaceAll(script, "\\\n", " ")
	for line := range strings.Lines(joined) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, err := split(line)
		if err == nil {
			err = plain(line)
		}
		if err != nil {
			// Other commands are ignored, unless they would join.
			if strings.HasPrefix(line, bootstrapScript) {
				return nil, err
			}
			continue
		}
		if len(words) > 0 {
			out = append(out, words)
		}
	}
	return out, nil
}

// split splits a line into words as a shell does, without expansion.
func split(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	open, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("a quotation does not end in %q", line)
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}

// plain returns an error for a line that is more than one simple command without expansion: a shell would do more than call one program.
func plain(line string) error {
	quote, escaped := rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == '\'':
		case strings.ContainsRune("$`", r), quote == 0 && strings.ContainsRune(";|&<>(){}*?[]~!\n", r):
			return fmt.Errorf("%q has a meaning to the shell in %q", r, line)
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		}
	}
	return nil
}
