package condition

import "strings"

// MaxMessageBytes is the maximum length of a text that leaves the process: messages of conditions and events, and log fields. Users write
// parts of them, and a pod may have thousands of resource names. The API server cuts the notes of events to the same length.
const MaxMessageBytes = 1024

// TruncateMessage cuts a text to MaxMessageBytes.
func TruncateMessage(text string) string { return Truncate(text, MaxMessageBytes) }

// Truncate cuts a text to limit bytes, at least three: between characters, with an ellipsis at the end.
func Truncate(text string, limit int) string {
	const ellipsis = "..."
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}
