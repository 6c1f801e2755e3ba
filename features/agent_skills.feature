Feature: The stateful loader of one skill folder
  A host that keeps a skill of its own in a conversation loads one folder: it discovers the skill, activates it, lists
  and reads its files, and lets go of its body again. The loader writes nothing and executes nothing.

  # --- parsing --------------------------------------------------------------------------------------------------------

  @S1-01
  Scenario Outline: The loader parses the smallest skill (<profile>)
    When the loader parses the text "---\nname: <name>\ndescription: Sorts mail.\n---\n# Steps\n\nBegin.\n" under <profile>
    Then the loader's spec says
      | field       | value                  |
      | name        | "<name>"               |
      | short_name  | "mail"                 |
      | description | "Sorts mail."          |
      | body        | "# Steps\n\nBegin.\n"  |

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-02
  Scenario Outline: The loader's spec holds every optional field, structured as the author wrote it (<profile>)
    When the loader parses this text under <profile>
      """
      ---
      name: <name>
      description: Deploys.
      license: MIT
      version: "1.2.3"
      compatibility:
        python: ">=3.11"
        os: [linux, macos]
      metadata:
        author: ops-team
        tags: [deploy, ci]
      allowed-tools:
        - Read
        - Bash(git:*)
      ---
      Begin.
      """
    Then the loader's spec says
      | field           | value                                         |
      | license         | "MIT"                                         |
      | version         | "1.2.3"                                       |
      | compatibility   | {"python": ">=3.11", "os": ["linux", "macos"]} |
      | metadata.author | "ops-team"                                    |
      | metadata.tags   | ["deploy", "ci"]                              |
      | allowed_tools   | ["Read", "Bash(git:*)"]                       |

    Examples:
      | profile    | name         |
      | LENIENT    | deploy       |
      | NAMESPACED | local/deploy |

  @S1-03
  Scenario Outline: The loader keeps the body to the last character (<profile>)
    Given the loader's folder "mail" with a SKILL.md of the text "---\nname: <name>\ndescription: D.\n---\n\n# Überschrift\r\n\n```sh\n---\n  echo 'a'\t\n```\n\n\n  – end  \n\n"
    When the loader loads "mail" under <profile>
    And the loader activates the skill
    Then the loader's body is exactly "\n# Überschrift\r\n\n```sh\n---\n  echo 'a'\t\n```\n\n\n  – end  \n\n"

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-04 @S1-05
  Scenario Outline: The loader refuses a skill without a <field> (<profile>)
    When the loader parses the text "---\n<rest>\n---\nBegin.\n" under <profile>
    Then the loader fails with InvalidSkillError and mentions "<field>"
    And the loader fails with InvalidSkillError and mentions "required"

    Examples:
      | profile    | field       | rest                     |
      | STRICT     | name        | description: Sorts mail. |
      | LENIENT    | name        | description: Sorts mail. |
      | NAMESPACED | name        | description: Sorts mail. |
      | STRICT     | description | name: mail               |
      | LENIENT    | description | name: mail               |
      | NAMESPACED | description | name: local/mail         |

  @S1-06 @S1-27
  Scenario Outline: The loader refuses a name without a valid namespace: <name>
    When the loader parses the text "---\nname: <name>\ndescription: D.\n---\nBegin.\n" under NAMESPACED
    Then the loader fails with InvalidSkillError and mentions "namespace"
    And the loader fails with InvalidSkillError and mentions "'<name>'"
    And the loader fails with InvalidSkillError and mentions "namespace/short-name"

    Examples:
      | name                  |
      | invalid-name-no-slash |
      | local/bad name!       |
      | local/                |
      | /mail                 |
      | a/b/c                 |

  @S1-07 @S1-08 @S1-31 @S1-32
  Scenario Outline: The loader refuses a file without a complete frontmatter: <what> (<profile>)
    When the loader parses the text "<text>" under <profile>
    Then the loader fails with InvalidSkillError and mentions "frontmatter"

    Examples:
      | profile    | what             | text                           |
      | STRICT     | no opening fence | # Just Markdown\n              |
      | LENIENT    | no opening fence | # Just Markdown\n              |
      | NAMESPACED | no opening fence | # Just Markdown\n              |
      | STRICT     | an empty file    |                                |
      | LENIENT    | an empty file    |                                |
      | NAMESPACED | an empty file    |                                |
      | STRICT     | never closed     | ---\nname: mail\nBegin.\n      |
      | LENIENT    | never closed     | ---\nname: mail\nBegin.\n      |
      | NAMESPACED | never closed     | ---\nname: local/mail\nBegin.\n |
      | STRICT     | an empty block   | ---\n---\nBegin.\n             |
      | LENIENT    | an empty block   | ---\n---\nBegin.\n             |
      | NAMESPACED | an empty block   | ---\n---\nBegin.\n             |

  @S1-33
  Scenario Outline: The loader says where YAML is malformed (<profile>)
    When the loader parses the text "---\nname: [half\ndescription: [open\n---\nBegin.\n" under <profile>
    Then the loader fails with InvalidSkillError and mentions "YAML"
    And the loader fails with InvalidSkillError and mentions "line"
    And the loader fails with InvalidSkillError and mentions "column"

    Examples:
      | profile    |
      | STRICT     |
      | LENIENT    |
      | NAMESPACED |

  @S1-34
  Scenario Outline: The loader refuses a list as frontmatter (<profile>)
    When the loader parses the text "---\n- name: mail\n- description: D.\n---\nBegin.\n" under <profile>
    Then the loader fails with InvalidSkillError and mentions "mapping"

    Examples:
      | profile    |
      | STRICT     |
      | LENIENT    |
      | NAMESPACED |

  @S1-37
  Scenario Outline: The loader takes compatibility as text (<profile>)
    When the loader parses the text "---\nname: <name>\ndescription: D.\ncompatibility: just a string\n---\nBegin.\n" under <profile>
    Then the loader's spec says
      | field         | value           |
      | compatibility | "just a string" |

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-38
  Scenario Outline: The loader takes metadata that is no mapping as empty, and says so once (<profile>)
    When the loader parses the text "---\nname: <name>\ndescription: D.\nmetadata: just a string\n---\nBegin.\n" under <profile>
    Then the loader's spec says
      | field    | value |
      | metadata | {}    |
    And the loader has said "metadata-type" and nothing else

    Examples:
      | profile    | name       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-24 @S1-25 @S1-26
  Scenario Outline: The loader takes any namespace and its short name apart: <name>
    When the loader parses the text "---\nname: <name>\ndescription: D.\n---\nBegin.\n" under NAMESPACED
    Then the loader's spec says
      | field      | value         |
      | name       | "<name>"      |
      | namespace  | "<namespace>" |
      | short_name | "<short>"     |

    Examples:
      | name                       | namespace | short                |
      | local/my-skill             | local     | my-skill             |
      | devops/deploy-pipeline     | devops    | deploy-pipeline      |
      | local/my_complex-skill_v2  | local     | my_complex-skill_v2  |

  @S1-28
  Scenario Outline: The loader keeps the order of the lines (<profile>)
    When the loader parses the text "---\nname: <name>\ndescription: D.\n---\nStep A\nStep B\nStep C\n" under <profile>
    Then the loader's spec says
      | field | value                      |
      | body  | "Step A\nStep B\nStep C\n" |

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  # --- steps ----------------------------------------------------------------------------------------------------------

  @S1-43 @S1-44
  Scenario Outline: The loader gives steps their place in the list (<profile>)
    When the loader parses this text under <profile>
      """
      ---
      name: <name>
      description: D.
      steps:
        - Look.
        - "Think: hard."
        - |
          Act
          at last.
        - 7
      ---
      Begin.
      """
    Then the loader's steps are
      | index | content           |
      | 1     | Look.             |
      | 2     | Think: hard.      |
      | 3     | Act\nat last.\n   |
      | 4     | 7                 |

    Examples:
      | profile    | name       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-43
  Scenario: The loader loses no entry that LENIENT cannot use as a step
    When the loader parses the text "---\nname: mail\ndescription: D.\nsteps: [Look., '', {then: act}, End.]\n---\nBegin.\n" under LENIENT
    Then the loader's steps are
      | index | content |
      | 1     | Look.   |
      | 4     | End.    |
    And the loader's spec says
      | field       | value                                  |
      | extra.steps | ["Look.", "", {"then": "act"}, "End."] |

  @S1-45
  Scenario Outline: The loader has no steps where the file has none (<profile>)
    When the loader parses the text "---\nname: <name>\ndescription: D.\n---\nBegin.\n" under <profile>
    Then the loader's spec says
      | field | value |
      | steps | []    |

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-46
  Scenario Outline: The loader refuses steps that are no list, and says what was found: <found>
    When the loader parses the text "---\nname: local/mail\ndescription: D.\nsteps: <steps>\n---\nBegin.\n" under NAMESPACED
    Then the loader fails with InvalidSkillError and mentions "steps is a <found>; it must be a list"
    And the loader's failure carries a hint that says "- text"

    Examples:
      | steps       | found   |
      | Look.       | str     |
      | {a: Look.}  | mapping |
      | 7           | int     |

  @S1-47
  Scenario Outline: The loader refuses an empty step, and says which: <steps>
    When the loader parses the text "---\nname: local/mail\ndescription: D.\nsteps: <steps>\n---\nBegin.\n" under NAMESPACED
    Then the loader fails with InvalidSkillError and mentions "steps: step <position> is <found>"

    Examples:
      | steps             | position | found    |
      | [Look., '']       | 2        | empty    |
      | ['  ', Look.]     | 1        | empty    |
      | [Look., B, null]  | 3        | empty    |
      | [[Look.], B]      | 1        | not text |

  # --- the folder -----------------------------------------------------------------------------------------------------

  @S1-09 @S1-35
  Scenario Outline: The loader gives name, description and folder of a skill folder (<profile>)
    Given the loader's skill "<name>" in the folder "mail"
    And the loader's link "elsewhere/mail" to "mail"
    When the loader loads "elsewhere/mail" under <profile>
    Then the loader's spec says
      | field       | value         |
      | name        | "<name>"      |
      | description | "Sorts mail." |
    And the loader's folder is "mail", resolved

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-10 @S1-11 @S1-12 @S1-29
  Scenario Outline: The loader lists scripts, references and assets, relative to the folder (<profile>)
    Given the loader's skill "<name>" in the folder "mail"
    And the loader's file "mail/scripts/deploy.py"
    And the loader's file "mail/references/guide.md"
    And the loader's file "mail/assets/template.json"
    And the loader's file "mail/examples/deep/one.md"
    When the loader loads "mail" under <profile>
    Then the loader's scripts are "scripts/deploy.py"
    And the loader's references are "references/guide.md"
    And the loader's assets are "assets/template.json"
    And the loader's files are "assets/template.json, examples/deep/one.md, references/guide.md, scripts/deploy.py"

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-13 @S1-49
  Scenario Outline: The loader of a skill without folders lists nothing and has no slots (<profile>)
    Given the loader's skill "<name>" in the folder "mail"
    When the loader loads "mail" under <profile>
    Then the loader's scripts are ""
    And the loader's references are ""
    And the loader's assets are ""
    And the loader's slots are ""

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-14
  Scenario Outline: The loader refuses a folder without a SKILL.md, also one that holds skills (<profile>)
    Given the loader's skill "mail" in the folder "skills/mail"
    When the loader loads "skills" under <profile>
    Then the loader fails with SkillFileNotFoundError and mentions "SKILL.md"
    And the loader fails with FileNotFoundError and mentions "skills"

    Examples:
      | profile    |
      | STRICT     |
      | LENIENT    |
      | NAMESPACED |

  @S1-15
  Scenario Outline: The loader refuses a folder that does not exist (<profile>)
    When the loader loads "no/such/folder" under <profile>
    Then the loader fails with SkillFileNotFoundError and mentions "not found"
    And the loader fails with FileNotFoundError and mentions "no/such/folder"

    Examples:
      | profile    |
      | STRICT     |
      | LENIENT    |
      | NAMESPACED |

  @S1-30
  Scenario Outline: The loader refuses a SKILL.md that does not exist: <path>
    When the loader parses the file "<path>"
    Then the loader fails with FileNotFoundError and mentions "SKILL.md"
    And the loader fails with SkillFileNotFoundError and mentions "not found"

    Examples:
      | path            |
      | SKILL.md        |
      | no/such/file.md |

  @S1-36
  Scenario Outline: The loader refuses a file where a folder is wanted (<profile>)
    Given the loader's file "mail.md"
    When the loader loads "mail.md" under <profile>
    Then the loader fails with SourceError and mentions "not a directory"

    Examples:
      | profile    |
      | STRICT     |
      | LENIENT    |
      | NAMESPACED |

  @S1-39
  Scenario Outline: A directory inside scripts/ is no script to the loader (<profile>)
    Given the loader's skill "<name>" in the folder "mail"
    And the loader's file "mail/scripts/sort.py"
    And the loader's file "mail/scripts/helpers/text.py"
    And the loader's directory "mail/scripts/empty.py"
    When the loader loads "mail" under <profile>
    Then the loader's scripts are "scripts/sort.py"
    And the loader's files are "scripts/helpers/text.py, scripts/sort.py"

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-40 @S1-41 @S1-42
  Scenario Outline: The loader names the argument that is missing: <call>
    When the loader is called as "<call>"
    Then the loader fails with SkillError and mentions "<argument> must be"

    Examples:
      | call                             | argument |
      | AgentSkillLoader(None, folder)   | spec     |
      | AgentSkillLoader(spec, None)     | folder   |
      | AgentSkillLoader.from_folder(None) | folder |
      | AgentSkillSpec.from_file(None)   | path     |
      | AgentSkillSpec.from_text(None)   | text     |

  # --- the three tiers ------------------------------------------------------------------------------------------------

  @S1-20 @S1-21 @S1-23
  Scenario Outline: The loader reads no body until activation, and lets go of it afterwards (<profile>)
    Given the loader's skill "<name>" in the folder "mail", 400000 bytes long
    When the loader loads "mail" under <profile>, watched
    Then the loader has read fewer than 20000 bytes
    And the loader's body is empty
    When the loader activates the skill
    Then the loader's body is 400000 bytes less the frontmatter
    And the loader's descriptor holds that body
    When the loader deactivates the skill
    Then the loader's body is empty
    And the loader's descriptor says
      | field       | value         |
      | name        | "<name>"      |
      | description | "Sorts mail." |
      | body        | ""            |

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-22
  Scenario Outline: The loader lists and reads files on demand, without activating (<profile>)
    Given the loader's skill "<name>" in the folder "mail"
    When the loader loads "mail" under <profile>
    Then the loader's files are ""
    Given the loader's file "mail/references/guide.md"
    Then the loader's files are "references/guide.md"
    And the loader reads "text" from "references/guide.md"
    And the loader's body is empty

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-21
  Scenario: The loader sees an edit at the next activation, never half of it
    Given the loader's skill "local/mail" in the folder "mail"
    When the loader loads "mail" under NAMESPACED
    And the loader activates the skill
    Given the loader's folder "mail" with a SKILL.md of the text "---\nname: local/post\ndescription: Sorts post.\n---\nNew.\n"
    When the loader discovers the skill
    Then the loader's descriptor of the discovery says
      | field       | value         |
      | name        | "local/post"  |
      | description | "Sorts post." |
      | body        | ""            |
    And the loader's spec says
      | field       | value         |
      | name        | "local/mail"  |
      | description | "Sorts mail." |
      | body        | "Begin.\n"    |
    When the loader activates the skill
    Then the loader's spec says
      | field | value        |
      | name  | "local/post" |
      | body  | "New.\n"     |

  # --- the tool descriptor --------------------------------------------------------------------------------------------

  @S1-16 @S1-17 @S1-18 @S1-19
  Scenario Outline: The loader's descriptor makes a read-only tool of the skill (<profile>)
    Given the loader's folder "mail" with a SKILL.md of the text "---\nname: <name>\ndescription: Sorts mail.\nallowed-tools: Read Bash(git:*) Edit\n---\nBegin.\n"
    When the loader loads "mail" under <profile>
    Then the loader's descriptor says
      | field         | value                           |
      | source        | "agent_skill"                   |
      | name          | "<name>"                        |
      | description   | "Sorts mail."                   |
      | read_only     | true                            |
      | writes        | false                           |
      | allowed_tools | ["Read", "Bash(git:*)", "Edit"] |
    And the loader's descriptor has the folder "mail"

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-48 @S1-50
  Scenario Outline: The loader's slots are the folders that exist, already at discovery (<profile>)
    Given the loader's skill "<name>" in the folder "mail"
    And the loader's file "mail/scripts/sort.py"
    And the loader's directory "mail/references"
    And the loader's directory "mail/examples"
    And the loader's file "mail/assets"
    When the loader loads "mail" under <profile>
    Then the loader's slots are "scripts, references"
    When the loader discovers the skill
    Then the loader's slots are "scripts, references"
    When the loader activates the skill
    Then the loader's slots are "scripts, references"

    Examples:
      | profile    | name       |
      | STRICT     | mail       |
      | LENIENT    | mail       |
      | NAMESPACED | local/mail |

  @S1-50
  Scenario: The loader has the assets slot at discovery
    Given the loader's skill "local/mail" in the folder "mail"
    And the loader's file "mail/assets/template.json"
    When the loader loads "mail" under NAMESPACED
    And the loader discovers the skill
    Then the loader's slots are "assets"

  @S1-51
  Scenario: Nothing makes a slot of the loader writable
    Given the loader's skill "local/mail" in the folder "mail"
    And the loader's file "mail/scripts/sort.py"
    When the loader loads "mail" under NAMESPACED
    Then the loader's slots cannot be given the access "read_write"
    And the loader takes no option that is about writing

  # --- errors ---------------------------------------------------------------------------------------------------------

  @S1-52
  Scenario Outline: The loader's errors name file, field, what was found and what is expected: <field>
    Given the loader's folder "mail" with a SKILL.md of the text "<text>"
    When the loader loads "mail" under <profile>
    Then the loader fails with InvalidSkillError and mentions "mail/SKILL.md"
    And the loader fails with InvalidSkillError and mentions "<field>"
    And the loader fails with InvalidSkillError and mentions "<found>"
    And the loader fails with InvalidSkillError and mentions "<expected>"
    And the loader's failure points at line <line> and says what to change

    Examples:
      | profile    | field         | text                                                                     | found             | expected             | line |
      | NAMESPACED | name          | ---\nname: mail\ndescription: D.\n---\nB\n                                | 'mail'            | namespace/short-name | 2    |
      | NAMESPACED | description   | ---\nname: l/mail\ndescription: [a, b]\n---\nB\n                          | a list            | must be text         | 3    |
      | NAMESPACED | steps         | ---\nname: l/mail\ndescription: D.\nsteps: Look.\n---\nB\n                | a str             | a list of texts      | 4    |
      | STRICT     | name          | ---\nname: Mail\ndescription: D.\n---\nB\n                                | 'Mail'            | upper-case           | 2    |
      | STRICT     | compatibility | ---\nname: mail\ndescription: D.\ncompatibility: {a: b}\n---\nB\n         | a mapping         | must be text         | 4    |
      | STRICT     | allowed-tools | ---\nname: mail\ndescription: D.\nallowed-tools: [Read]\n---\nB\n         | a list            | must be one string   | 4    |
      | LENIENT    | description   | ---\nname: mail\ndescription: ''\n---\nB\n                                | missing or empty  | required             | 3    |

  # --- several folders, tools, execution ------------------------------------------------------------------------------

  @S1-53
  Scenario: Of several roots with one name, the collision is decided, not left to chance
    Given the loader's skill "local/mail" in the folder "project/mail"
    And the loader's skill "local/mail" in the folder "home/mail"
    And the loader's skill "local/pdf" in the folder "home/pdf"
    Then the loader's roots "project, home" give "local/mail" from "project" and "local/pdf" from "home"
    And the loader's roots "home, project" give "local/mail" from "home" and "local/pdf" from "home"
    And the loader's roots "project, home" fail with CollisionError when a collision is an error

  @S1-54
  Scenario: A new scan shows what was added, removed and changed
    Given the loader's skill "local/mail" in the folder "skills/mail"
    And the loader's skill "local/pdf" in the folder "skills/pdf"
    And a router over the loader's root "skills"
    When the loader's folder "skills/pdf" is removed
    Given the loader's skill "local/csv" in the folder "skills/csv"
    And the loader's folder "skills/mail" with a SKILL.md of the text "---\nname: local/mail\ndescription: Sorts mail.\n---\nNew.\n"
    Then a reload of the loader's root says "local/csv" was added, "local/pdf" removed and "local/mail" changed

  @S1-56
  Scenario: The loader executes nothing, whatever the skill brings
    Given the loader's skill "local/mail" in the folder "mail"
    And the loader's file "mail/scripts/sort.py" that leaves a trace when it is run
    And the loader's file "mail/scripts/__init__.py" that leaves a trace when it is run
    When the loader loads "mail" under NAMESPACED
    And the loader goes through the whole life of the skill, watched
    Then the loader has started no process and compiled none of the skill's code
    And the loader's skill offers a model no tool that runs anything

  @S1-57
  Scenario Outline: A namespaced name becomes a tool name and comes back: <name>
    Given the loader's skill "<name>" in the folder "skills/one"
    And the loader's skill "other/skill" in the folder "skills/two"
    And a router over the loader's root "skills"
    Then the loader's skill "<name>" is the tool "<tool>" that every provider takes
    And calling the tool "<tool>" gives the loader's skill "<name>"

    Examples:
      | name                      | tool                        |
      | local/my-skill            | local_S_my-skill            |
      | local/my_complex-skill_v2 | local_S_my_complex-skill_v2 |
      | a/b                       | a_S_b                       |

  @S1-57
  Scenario Outline: A name that cannot be turned back gets a tool name of its own: <name>
    Given the loader's skill "<name>" in the folder "skills/one"
    And the loader's skill "<other>" in the folder "skills/two"
    And a router over the loader's root "skills"
    Then the loader's skills "<name>" and "<other>" are different tools that every provider takes

    Examples:
      | name          | other         |
      | local/x_S_y   | local_S_x/y   |
      | a_S_b/c       | a/b_S_c       |
      | local/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1 | local/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2 |
