Feature: Loading what people really wrote
  Nearly one real SKILL.md in ten breaks a rule. LENIENT, the default for loading, uses every skill with a usable
  description, and says what it had to overlook. STRICT refuses the same files.

  Scenario: A colon in the description is the most common mistake, and is mended
    Given a SKILL.md
      """
      ---
      name: mail
      description: Tidies an inbox. Use when: mail is a mess, or asks to sort: by sender
      license: MIT
      ---
      Body.
      """
    When it is parsed under LENIENT
    Then its description is "Tidies an inbox. Use when: mail is a mess, or asks to sort: by sender"
    And its fields are
      | field   | value |
      | license | "MIT" |
    And a warning "yaml-repaired" says "was repaired"
    And the errors are ""
    When it is parsed under STRICT
    Then it is refused for "yaml-invalid"

  Scenario: Of YAML beyond repair, name and description are salvaged, and no permission
    Given a SKILL.md
      """
      ---
      name: mail
      description: Sorts mail.
      allowed-tools: Bash(rm *)
      hooks: [unclosed
        - {really
      ---
      Body.
      """
    When it is parsed under LENIENT
    Then the skill is called "mail"
    And its description is "Sorts mail."
    And its fields are
      | field         | value |
      | allowed_tools | []    |
    And a warning "yaml-salvaged" says "only name and description were kept"
    When it is parsed under STRICT
    Then it is refused for "yaml-invalid"

  Scenario Outline: <what>: a warning for LENIENT, an error for STRICT
    Given a SKILL.md of the bytes "<bytes>"
    When it is parsed under LENIENT in the folder "mail"
    Then the skill is called "<called>"
    And its description is "<says>"
    And a warning "<code>" says "<message>"
    And the errors are ""
    When it is parsed under STRICT in the folder "mail"
    Then it is refused, and the reason mentions "<message>"

    Examples:
      | what                        | bytes                                                              | called | says     | code                        | message         |
      | Blank lines in front        | \n\n---\nname: mail\ndescription: D.\n---\nB\n                     | mail   | D.       | frontmatter-leading-content | before          |
      | A comment in front          | <!-- x -->\n---\nname: mail\ndescription: D.\n---\nB\n             | mail   | D.       | frontmatter-leading-content | before          |
      | Dots for the closing fence  | ---\nname: mail\ndescription: D.\n...\nB\n                         | mail   | D.       | frontmatter-delimiter       | '...'           |
      | A key given twice           | ---\nname: mail\ndescription: A.\ndescription: D.\n---\nB\n        | mail   | D.       | yaml-duplicate-key          | given twice     |
      | A list as description       | ---\nname: mail\ndescription: [Sorts, mail.]\n---\nB\n             | mail   | Sorts mail. | description-type         | a list          |
      | A name in title case        | ---\nname: Mail\ndescription: D.\n---\nB\n                         | Mail   | D.       | name-uppercase              | upper-case      |
      | A name that is a list       | ---\nname: [mail]\ndescription: D.\n---\nB\n                       | mail   | D.       | name-type                   | name is a list  |
      | A control character         | ---\nname: mail\ndescription: D.\n---\nB\x07\n                     | mail   | D.       | control-chars               | U+0007          |

  Scenario Outline: UTF-16 is read when loading and refused by STRICT (<encoding>)
    Given a SKILL.md of the bytes "<bytes>"
    When it is parsed under LENIENT
    Then the skill is called "a"
    And its description is "D"
    And a warning "encoding-utf16" says "UTF-16"
    When it is parsed under STRICT
    Then it is refused for "encoding-utf16"

    Examples:
      | encoding      | bytes |
      | little endian | \xff\xfe-\x00-\x00-\x00\n\x00n\x00a\x00m\x00e\x00:\x00\x20\x00a\x00\n\x00d\x00e\x00s\x00c\x00r\x00i\x00p\x00t\x00i\x00o\x00n\x00:\x00\x20\x00D\x00\n\x00-\x00-\x00-\x00\n\x00B\x00\n\x00 |
      | big endian    | \xfe\xff\x00-\x00-\x00-\x00\n\x00n\x00a\x00m\x00e\x00:\x00\x20\x00a\x00\n\x00d\x00e\x00s\x00c\x00r\x00i\x00p\x00t\x00i\x00o\x00n\x00:\x00\x20\x00D\x00\n\x00-\x00-\x00-\x00\n\x00B\x00\n |

  Scenario: Text lost to a YAML comment is pointed out by both
    Given a SKILL.md of the bytes "---\nname: mail\ndescription: Use with #hashtags only\n---\nB\n"
    When it is parsed under LENIENT
    Then its description is "Use with"
    And a warning "yaml-comment-truncation" says "#hashtags"
    When it is parsed under STRICT
    Then its description is "Use with"
    And a warning "yaml-comment-truncation" says "#hashtags"

  Scenario Outline: allowed-tools in the shapes people use are one list: <yaml>
    Given a SKILL.md of the bytes "---\nname: mail\ndescription: D.\nallowed-tools: <yaml>\n---\nB\n"
    When it is parsed under LENIENT
    Then its allowed tools are
      | tool        |
      | Read        |
      | Bash(git *) |
    And the warnings are "<code>"
    When it is parsed under STRICT
    Then the errors are "<code>"

    Examples:
      | yaml                       | code                |
      | Read Bash(git *)           |                     |
      | Read, Bash(git *)          | allowed-tools-comma |
      | [Read, Bash(git *)]        | allowed-tools-type  |
      | \n  - Read\n  - Bash(git *) | allowed-tools-type |

  Scenario: Nested metadata becomes text and is kept as it was
    Given a SKILL.md of the bytes "---\nname: mail\ndescription: D.\nmetadata:\n  by: me\n  app: {bins: [curl]}\n---\nB\n"
    When it is parsed under LENIENT
    Then its fields are
      | field                   | value                     |
      | metadata.by             | "me"                      |
      | metadata.app            | "{\"bins\":[\"curl\"]}"   |
      | extra.metadata.app.bins | ["curl"]                  |
    And the warnings are "metadata-value-type"
    When it is parsed under STRICT
    Then it is refused for "metadata-value-type"

  Scenario Outline: Hostile YAML is refused by every profile: <what>
    Given a SKILL.md of the bytes "---\nname: mail\ndescription: D.\n<yaml>\n---\nB\n"
    When it is parsed under LENIENT
    Then it is refused for "<code>"
    When it is parsed under STRICT
    Then the errors are "<code>"

    Examples:
      | what                 | yaml                                                     | code        |
      | a tag                | x: !!python/object/apply:os.system [id]                  | yaml-unsafe |
      | a circle             | x: &a [*a]                                               | yaml-unsafe |

  Scenario: Aliases may not grow without bound
    Given a SKILL.md
      """
      ---
      name: mail
      description: D.
      a: &a [x, x, x, x, x, x, x, x, x, x]
      b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
      c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
      d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
      e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
      ---
      B
      """
    When it is parsed under LENIENT
    Then it is refused for "yaml-too-complex"

  Scenario: One broken skill hides no other, and says why it is missing
    Given a skill "good" in "skills"
    And the file "skills/half-open/SKILL.md" of the text "---\nname: half-open\ndescription: [never\nlicense: x\n---\nB\n"
    And a skill "zebra" in "skills"
    And the folder "skills" as a LENIENT source
    When its skills are listed
    Then the skills are "good, zebra"
    When the skill "half-open" is loaded
    Then it is refused as a InvalidSkillError
    And the message mentions "not valid YAML"
    And the message mentions "line 4"
