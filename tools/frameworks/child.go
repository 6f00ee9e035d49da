package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// child is an MCP server on standard input and output that exits when a tool is called, after it has noted the call in a file.
func child(in io.Reader, out io.Writer, calls string) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m := new(clientMessage)
		if json.Unmarshal(lines.Bytes(), m) != nil || len(m.ID) == 0 {
			continue
		}
		if m.Method == "tools/call" {
			file, err := os.OpenFile(calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, _ = file.WriteString(".") // the program ends here, whatever happens
			_ = file.Close()
			os.Exit(3)
		}
		if _, err := fmt.Fprintln(out, reply(m)); err != nil {
			return err
		}
	}
	return lines.Err()
}
