package firstboot

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// piece is one part of user data.
type piece struct{ kind, text string }

// Types of parts.
const (
	typeShell      = "text/x-shellscript"
	typeNodeConfig = "application/node.eks.aws"
)

// pieces splits user data as cloud-init does: an archive into its parts, everything else into one part whose kind its first
// line determines.
func pieces(userData string) ([]piece, error) {
	head := strings.TrimSpace(userData)
	if head == "" {
		return nil, nil
	}
	if !strings.HasPrefix(head, "MIME-Version:") && !strings.HasPrefix(head, "Content-Type:") {
		return []piece{{guess(head), userData}}, nil
	}
	message, err := mail.ReadMessage(strings.NewReader(head + "\n"))
	if err != nil {
		return nil, fmt.Errorf("reading the head of the archive: %w", err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("reading the type of the archive: %w", err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("the archive is of type %s", kind)
	}
	var out []piece
	for parts := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading part %d of the archive: %w", len(out)+1, err)
		}
		p, err := open(part)
		if err != nil {
			return nil, fmt.Errorf("reading part %d of the archive: %w", len(out)+1, err)
		}
		out = append(out, p)
	}
}

// open reads one part.
func open(part *multipart.Part) (piece, error) {
	text, err := io.ReadAll(part)
	if err != nil {
		return piece{}, fmt.Errorf("reading its text: %w", err)
	}
	if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
		if text, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(text)), "")); err != nil {
			return piece{}, fmt.Errorf("decoding its text: %w", err)
		}
	}
	kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil {
		return piece{}, fmt.Errorf("reading its type: %w", err)
	}
	return piece{kind, string(text)}, nil
}

// guess is the kind of a text that does not declare it.
func guess(text string) string {
	switch {
	case strings.HasPrefix(text, "#!"):
		return typeShell
	case strings.HasPrefix(text, "#cloud-config"):
		return "text/cloud-config"
	default:
		return typeNodeConfig // what else nodeadm takes; others pass over it
	}
}
