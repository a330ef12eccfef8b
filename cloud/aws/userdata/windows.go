package userdata

import (
	"errors"
	"strings"
)

// renderWindows is the user's script and a call of the bootstrap script of the image. Both share one pair of tags: with further
// tags of the user the script would end before the call, and the node would never join.
func renderWindows(in *Input) (string, error) {
	if hasTag(in.Custom) {
		return "", errors.New("custom user data must not contain the tags <powershell> and </powershell>")
	}
	lines := []string{"<powershell>"}
	if in.Custom != "" {
		lines = append(lines, in.Custom)
	}
	flags, err := in.kubeletFlags()
	if err != nil {
		return "", err
	}
	call := "& $EKSBootstrapScriptFile -EKSClusterName " + powershell(in.ClusterName) + " -APIServerEndpoint " + powershell(in.Endpoint)
	if in.CABundle != "" {
		call += " -Base64ClusterCA " + powershell(in.CABundle)
	}
	call += " -KubeletExtraArgs " + powershell(flags)
	if dns := in.firstDNS(); dns != "" {
		call += " -DNSClusterIP " + powershell(dns)
	}
	if hasTag(call) {
		return "", errors.New("the settings of the cluster must not contain the tags of scripts")
	}
	lines = append(lines, `[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`, call, "</powershell>")
	return strings.Join(lines, "\n"), nil
}

// hasTag reports whether a text has a tag that begins or ends a script.
func hasTag(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "<powershell>") || strings.Contains(text, "</powershell>")
}
