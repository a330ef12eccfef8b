package userdata

import (
	"fmt"
	"strings"
)

// renderWindows is the user's script and a call of the bootstrap script of the image. Both share one pair of tags: with further
// tags of the user the script would end before the call, and the node would never join.
func renderWindows(in *Input) (string, error) {
	for _, tag := range []string{"<powershell>", "</powershell>"} {
		if strings.Contains(strings.ToLower(in.Custom), tag) {
			return "", fmt.Errorf("custom user data must not contain the tag %s", tag)
		}
	}
	lines := []string{"<powershell>"}
	if in.Custom != "" {
		lines = append(lines, in.Custom)
	}
	call := fmt.Sprintf("& $EKSBootstrapScriptFile -EKSClusterName '%s' -APIServerEndpoint '%s'", in.ClusterName, in.Endpoint)
	if in.CABundle != "" {
		call += fmt.Sprintf(" -Base64ClusterCA '%s'", in.CABundle)
	}
	call += fmt.Sprintf(" -KubeletExtraArgs '%s'", in.kubeletFlags())
	if dns := in.firstDNS(); dns != "" {
		call += fmt.Sprintf(" -DNSClusterIP '%s'", dns)
	}
	lines = append(lines, `[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`, call, "</powershell>")
	return strings.Join(lines, "\n"), nil
}
